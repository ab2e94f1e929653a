// Annotations that are not about tenancies (those are in on_memory.cc).
#include <algorithm>

#include "src/import/state.h"

namespace ss {

void Importer::State::On(const trace::NoteKernelAccess& record) {
  Function& function = functions_[record.function];
  const Declared declared{record.offset, static_cast<uint8_t>(record.mode), function.launches};
  for (Declared& old : function.declared) {
    if (old.offset == record.offset) {
      old = declared;
      return;
    }
  }
  function.declared.push_back(declared);
}

void Importer::State::On(const trace::NoteAccess& record) {
  now_.life->notes.push_back({ResolvedHandle(record.stream), record.address, record.bytes,
                              static_cast<uint8_t>(record.mode), false});
}

void Importer::State::On(const trace::NoteFill& record) {
  now_.life->notes.push_back(
      {ResolvedHandle(record.stream), record.address, record.bytes, kWrite, true});
}

// Inside a host function it is that operation's access; its own thread is the driver's.
void Importer::State::On(const trace::NoteHostAccess& record) {
  const Range range = MakeRange(record.address, record.bytes);
  if (range.begin == range.end) return;
  HostFunctionRun run;
  if (record.token != 0) {
    auto it = host_functions_.find(record.token);
    if (it == host_functions_.end()) return counts_.Add(Count::kOrphanHostAccesses);
    run = it->second;
    if (auto told = told_host_functions_.find(run.op); told != told_host_functions_.end()) {
      run.op = told->second;
    }
  }
  const MemoryMap::Found found = memory_.Find(range.begin);
  Op& op = Emit(OpKind::kHostAccess, record.stack);
  op.stream = run.stream;
  op.aux = record.token != 0;
  op.value = run.op;
  AddAccess(range, static_cast<uint8_t>(record.mode),
            found.block != nullptr ? found.block->accessed : MemoryKind::kPageable,
            Evidence::kAnnotated, Evidence::kAnnotated);
}

void Importer::State::On(const trace::NoteRelease& record) {
  Emit(OpKind::kTagRelease).object = tags_.Get(record.tag);
}

void Importer::State::On(const trace::NoteAcquire& record) {
  Emit(OpKind::kTagAcquire).object = tags_.Get(record.tag);
}

// Stands until the tenancy of the memory ends.
void Importer::State::On(const trace::NoteDeviceFlag& record) {
  const Range range = MakeRange(record.address, record.bytes);
  if (range.begin == range.end) return;
  for (const Range& known : device_flags_) {
    if (known.begin == range.begin && known.end == range.end) return;
  }
  device_flags_.push_back(range);
}

void Importer::State::On(const trace::NoteStreamName& record) {
  const StringId name = TextOf(record.text_id);
  StreamLife& stream = StreamOf(record.stream, record.context);
  if (name == 0 || stream.name == name) return;
  stream.name = name;
  stream_names_[stream.id] = name;
  EmitStream(stream, 0);
}

void Importer::State::On(const trace::NoteThreadName& record) {
  const StringId name = TextOf(record.text_id);
  if (name == 0 || now_.life->name == name) return;
  NameThread(*now_.life, FreeThreadName(strings_.Get(name)));
}

void Importer::State::On(const trace::PlugIn& record) {
  plug_in_ = true;
  const StringId text = TextOf(record.text_id);
  if (record.gap == 0 || std::find(gaps_.begin(), gaps_.end(), text) != gaps_.end()) return;
  gaps_.push_back(text);
}

// Texts that are not known leave a gap and nothing else: this only describes.
void Importer::State::On(const trace::Doing& record) {
  now_.life->doing = {texts_.Get(record.operator_text), texts_.Get(record.forward_text),
                      texts_.Get(record.module_text), texts_.Get(record.site_text)};
}

}  // namespace ss
