// Records about work on streams: kernels, copies, memsets, host functions.
#include <algorithm>
#include <optional>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr uint64_t kProgrammaticBit = 2;  // of Launch::kind
// CUstreamBatchMemOpType
constexpr uint64_t kWaitValue32 = 1, kWriteValue32 = 2, kWaitValue64 = 4, kWriteValue64 = 5;
constexpr size_t kMaxTokens = size_t{1} << 16;  // host functions whose accesses may still come
constexpr uint64_t kLowMemory = uint64_t{1} << 32;
constexpr uint64_t kHostMappings =
    0x5500'0000'0000;  // where Linux begins to place programs and mappings

// CUstreamWaitValue_flags; the upper ones say nothing about when the wait ends.
uint32_t ComparisonOf(uint64_t flags, bool narrow) {
  constexpr uint32_t kKinds[] = {kAwaitAtLeast, 0, kAwaitAnyBit, kAwaitAnyZero};
  return kKinds[flags & 3] | (narrow ? kAwaitNarrow : 0u);
}

// CUmemcpySrcAccessOrder
constexpr uint64_t kReadInCall = 2, kReadAtAnyTime = 3;
constexpr uint64_t kBeginsBatch = 1;  // Copy::batch

// Where in Copy::box a side's bytes from row to row are; those from slice to slice are behind it.
constexpr size_t kTargetBox = 3, kSourceBox = 5, kBoxWords = 7;

// Nothing: gaps that are not described, as of recordings older than the field.
std::optional<Shape> BoxOf(const trace::Copy& copy, size_t side) {
  if (copy.exact != 0) return Shape{copy.bytes, {}};
  if (copy.box.size() < kBoxWords || copy.box[0] == 0) return std::nullopt;
  const std::optional<Shape> slice = Repeated({copy.box[0], {}}, copy.box[side], copy.box[1]);
  return slice ? Repeated(*slice, copy.box[side + 1], copy.box[2]) : std::nullopt;
}

std::optional<Shape> RowsOf(const trace::Memset& set) {
  if (set.bounding == 0) return Shape{set.bytes, {}};
  if (set.rows == 0 || set.pitch == 0 || set.bytes / set.pitch < set.rows - 1) return std::nullopt;
  const uint64_t row = set.bytes - set.pitch * (set.rows - 1);
  return row == 0 ? std::nullopt : Repeated({row, {}}, set.pitch, set.rows);
}

}  // namespace

// A function handle that comes back with another definition belongs to another module, loaded at
// the place of the first: the old declarations go, those made since the last launch are already its
// own. The same definition says nothing: the capture forgets all functions when any module goes.
void Importer::State::On(const trace::Function& record) {
  Function& function = functions_[record.function];
  const trace::Function& old = function.definition;
  const bool same = old.text_id == record.text_id && old.module == record.module &&
                    old.parameters == record.parameters;
  if (function.launches != 0 && !same) {
    std::erase_if(function.declared,
                  [&](const Declared& d) { return d.after_launches != function.launches; });
  }
  function.definition = record;
  function.name = texts_.Get(record.text_id);
  if (options_.kernels) function.code = options_.kernels->Find(record.function, now_.before);
}

void Importer::State::On(const trace::Launch& record) {
  if (Failed(record.result)) return DropNotes(record.stream);
  Function& function = functions_[record.function];
  if (function.name == 0) function.name = texts_.Get(function.definition.text_id);
  if (function.name == 0) counts_.Add(Count::kUnnamedKernels);
  if (IsNcclsOwn(record, function.name)) return;
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kKernel, stream, record.stack);
  op.name = doings_.Name(function.name, now_.life->doing);
  if (record.kind & kProgrammaticBit) op.flags |= PdlFlags(function);
  if (LetsNobodyStartEarly(function)) op.flags |= kNoTrigger;
  EventId start = record.start_event == 0 ? 0 : EventOf(record.start_event, record.context);
  if (start != 0 && building_) {  // as with any event that is recorded while capturing
    if (OpenCapture* capture = CaptureOf(stream.id)) {
      CaptureRecord(
          {.event = record.start_event, .stream = record.stream, .context = record.context});
      for (GraphNode::Before& before : capture->events[start]) before.start = true;
    }
    start = 0;
  }
  if (start != 0) {
    op.flags |= kLaunchEvent;
    op.object = start;
  }
  early_.clear();
  bool annotated = false;
  bool resolved = FindAccesses(function, record.words, op);
  if (!now_.life->tensors.empty()) resolved = UseSchema(function, resolved);
  if (!now_.life->notes.empty()) {
    const Taken notes = TakeNotes(op, record.stream);
    if (notes.fill && op.access_count == 0) {
      AddAccess(notes.fill_range, kWrite, KindAt(notes.fill_range.begin), Evidence::kAnnotated,
                Evidence::kAnnotated);
    }
    resolved = resolved || notes.accesses || notes.fill;
    annotated = notes.accesses;
  }
  ++function.launches;
  ++launches_;
  launches_resolved_ += resolved;
  Touch touch = Queues(stream);
  touch.event = start;
  touch.changes_event = start != 0;
  CheckOverlap(op, touch);
  if (std::find(early_.begin(), early_.end(), true) == early_.end()) return;
  if (building_ || annotated) {  // a graph's node is one operation; annotations do not say when
    counts_.Add(Count::kEarlyPdlAccesses);
  } else {
    SplitAtGridWait(op, touch);
  }
}

// Rule 13. Where nobody has read the code, the kernel that orders more is assumed.
uint32_t Importer::State::PdlFlags(const Function& function) {
  const kernels::KernelEntry* code = function.code.get();
  if (code == nullptr || code->state != kernels::KernelEntry::kReady || !code->summary.resolved()) {
    counts_.Add(Count::kAssumedPdlWaits);
    return kPdl | kPdlWait;
  }
  return code->summary.waits_for_grid ? kPdl | kPdlWait : kPdl;
}

bool Importer::State::LetsNobodyStartEarly(const Function& function) {
  const kernels::KernelEntry* code = function.code.get();
  return code != nullptr && code->state == kernels::KernelEntry::kReady &&
         code->summary.resolved() && !code->summary.launches_dependents;
}

// Of a kernel that has a wait, and whose summary is whole.
bool Importer::State::TouchesBeforeItsWait(const Function& function) {
  const kernels::KernelEntry* code = function.code.get();
  if (code == nullptr || code->state != kernels::KernelEntry::kReady) return false;
  if (!code->summary.resolved() || !code->summary.waits_for_grid) return false;
  const auto& accesses = code->summary.accesses;
  return std::any_of(accesses.begin(), accesses.end(),
                     [](const auto& access) { return access.before_grid_wait; });
}

// What a kernel touches before its grid-dependency wait is not ordered behind the kernel that it
// was launched behind, what it touches after the wait is: two operations in the stream, of which
// the second one carries the wait.
void Importer::State::SplitAtGridWait(Op& op, const Touch& touch) {
  const std::vector<Access> late = TakeLateParts();
  op.flags &= ~uint32_t{kPdlWait};
  const Op first = op;
  Op& rest = Emit(OpKind::kKernel);
  const OpId id = rest.id;
  rest = first;
  rest.id = id;
  rest.access_count = 0;
  rest.flags = (first.flags & ~uint32_t{kLaunchEvent}) | kPdlWait | kAfterGridWait;
  rest.object = 0;
  for (const Access& access : late) held_.AddAccess(access);
  CheckOverlap(rest, touch);
}

// Leaves the early parts alone with the last operation; what it touches at any time is returned.
std::vector<Access> Importer::State::TakeLateParts() {
  std::vector<Access> early, late;
  const std::span<const Access> all = held_.LastAccesses();
  for (size_t i = 0; i < all.size(); ++i) {
    (i < early_.size() && early_[i] ? early : late).push_back(all[i]);
  }
  held_.ClearAccesses();
  for (const Access& access : early) held_.AddAccess(access);
  return late;
}

// What the machine code says, else what the program declared; true if that is all.
bool Importer::State::FindAccesses(const Function& function, const trace::WORDS& words, Op& op) {
  if (function.code == nullptr) return ScanWords(function, words, op);
  const bool ready = function.code->state == kernels::KernelEntry::kReady;
  if (ready && function.code->summary.resolved()) return UseSummary(function, words, op);
  if (!function.declared.empty()) return ScanWords(function, words, op);
  return (!ready && PointsNowhere(words)) || UseSummary(function, words, op);
}

bool Importer::State::PointsNowhere(const trace::WORDS& words) {
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (memory_.Find(words[i + 1]).block != nullptr) return false;
  }
  return true;
}

// Adds the declared accesses. True if every word that points into a live block has a known
// direction.
bool Importer::State::ScanWords(const Function& function, const trace::WORDS& words, Op& op) {
  bool resolved = true;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const uint64_t address = words[i + 1];
    const auto declared = std::find_if(function.declared.begin(), function.declared.end(),
                                       [&](const Declared& d) { return d.offset == words[i]; });
    const bool known = declared != function.declared.end();
    const MemoryMap::Found found = memory_.Find(address);
    if (found.block == nullptr) {
      if (!known || address == 0 || declared->mode == 0) continue;
      counts_.Add(Count::kDeclaredOutside);
      resolved = false;
      continue;
    }
    if (IsDeviceFlag({address, address + 1})) op.flags |= kPolling;
    if (!known) {
      resolved = false;
    } else if (declared->mode != 0) {
      AddAccess({address, found.limit}, declared->mode, found.block->accessed, Evidence::kDeclared,
                Evidence::kAssumed);
    }
  }
  return resolved;
}

// What the program said of this thread's next operation on the stream. Accesses replace all others.
Importer::State::Taken Importer::State::TakeNotes(Op& op, uint64_t raw_stream) {
  Taken taken;
  raw_stream = ResolvedHandle(raw_stream);
  auto use = [&](const Note& note) {
    if (note.stream != raw_stream) return false;
    const Range range = MakeRange(note.address, note.bytes);
    if (IsDeviceFlag(range)) op.flags |= kPolling;
    if (note.fill) {
      op.flags |= kFill;
      taken.fill = true;
      taken.fill_range = range;
      return true;
    }
    if (!taken.accesses) held_.ClearAccesses();
    taken.accesses = true;
    AddAccess(range, note.mode, KindAt(range.begin), Evidence::kAnnotated, Evidence::kAnnotated);
    return true;
  };
  std::erase_if(now_.life->notes, use);
  return taken;
}

void Importer::State::DropNotes(uint64_t raw_stream) {
  raw_stream = ResolvedHandle(raw_stream);
  std::erase_if(now_.life->notes, [&](const Note& note) { return note.stream == raw_stream; });
}

MemoryKind Importer::State::UnknownKind(uint64_t address) const {
  const bool below_host = address >= kLowMemory && address < kHostMappings;
  return process_.late || maps_unseen_ || below_host ? MemoryKind::kUnknown : MemoryKind::kPageable;
}

// Addresses do not tell device from host memory: an address that nobody allocated is pageable host
// memory, unless memory may have come alive unseen or the address lies where a program has none.
MemoryKind Importer::State::KindAt(uint64_t address) {
  const MemoryMap::Found found = memory_.Find(address);
  return found.block != nullptr ? found.block->accessed : UnknownKind(address);
}

bool Importer::State::IsDeviceFlag(Range range) const {
  if (device_flags_.empty()) return false;
  return std::any_of(device_flags_.begin(), device_flags_.end(), [&](const Range& flag) {
    return range.begin < flag.end && flag.begin < range.end;
  });
}

// Without a shape: `bytes` that hold what is touched, and gaps.
Importer::State::CopySide Importer::State::SideOf(uint64_t address,
                                                  const std::optional<Shape>& shape,
                                                  uint64_t bytes) {
  if (!shape) return {MakeRange(address, bytes), 0, Evidence::kAssumed};
  const Range range = MakeRange(address, shape->Span());
  const std::optional<ShapeId> id = shapes_.Intern(*shape);
  if (id) return {range, *id, Evidence::kExact};
  counts_.Add(Count::kUnkeptShapes);
  return {range, 0, Evidence::kAssumed};
}

void Importer::State::AddCopySide(const CopySide& side, uint8_t mode) {
  const MemoryKind kind = KindAt(side.range.begin);
  if (kind == MemoryKind::kUnknown) counts_.Add(Count::kUnknownCopyAddresses);
  AddAccess(side.range, mode, kind, Evidence::kExact, side.extent, side.shape);
}

// Notes on a copy replace the side that they name: there is always a read first and a write second.
void Importer::State::TakeCopyNotes(Op& op, uint64_t raw_stream) {
  const std::span<const Access> own = held_.Accesses(held_.last());
  std::vector<Access> reads(own.begin(), own.begin() + 1), writes(own.begin() + 1, own.end());
  if (!TakeNotes(op, raw_stream).accesses) return;
  const std::span<const Access> noted = held_.Accesses(held_.last());
  auto replace = [&](std::vector<Access>& side, uint8_t mode) {
    std::vector<Access> found;
    for (Access access : noted) {
      if (!(access.mode & mode)) continue;
      access.mode = mode;
      found.push_back(access);
    }
    if (!found.empty()) side.swap(found);
  };
  replace(reads, kRead);
  replace(writes, kWrite);
  held_.ClearAccesses();
  held_.AddAccess(reads[0]);
  for (const Access& access : writes) held_.AddAccess(access);
  for (size_t i = 1; i < reads.size(); ++i) held_.AddAccess(reads[i]);
}

// Copies of no bytes are none, also where they begin a batch. In a graph a copy is a node, which
// reads in the graph's order.
uint32_t Importer::State::BatchFlags(const trace::Copy& record) {
  if (record.graph_node != 0) return 0;
  uint32_t flags = 0;
  if (record.source_order == kReadInCall) flags |= kSourceInCall;
  if (record.source_order == kReadAtAnyTime) flags |= kSourceAnyTime;
  if (record.batch == 0) return flags;
  flags |= now_.life->batch_begun ? kSameBatch : kBatchBegin;
  now_.life->batch_begun = true;
  return flags;
}

void Importer::State::On(const trace::Copy& record) {
  if (Failed(record.result)) return DropNotes(record.stream);
  if (record.batch == kBeginsBatch) now_.life->batch_begun = false;
  const CopySide source = SideOf(record.source, BoxOf(record, kSourceBox), record.bytes);
  const CopySide target = SideOf(record.destination, BoxOf(record, kTargetBox), record.bytes);
  if (source.range.begin == source.range.end || target.range.begin == target.range.end) {
    return DropNotes(record.stream);  // of no bytes: touches and orders nothing
  }
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kCopy, stream, record.stack);
  op.name = doings_.Name(0, now_.life->doing);
  if (record.blocking != 0) op.flags |= kBlocking;
  op.flags |= BatchFlags(record);
  AddCopySide(source, kRead);
  AddCopySide(target, kWrite);
  if (!now_.life->notes.empty()) TakeCopyNotes(op, record.stream);
  CheckOverlap(op, Queues(stream));
  if (record.blocking != 0) BeginSync(op);
  if (!flags_.all().empty()) ResetFlags(stream, target.range, record.stack);
}

void Importer::State::On(const trace::Memset& record) {
  if (Failed(record.result)) return DropNotes(record.stream);
  const CopySide target = SideOf(record.destination, RowsOf(record), record.bytes);
  if (target.range.begin == target.range.end) return DropNotes(record.stream);
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kMemset, stream, record.stack);
  op.name = doings_.Name(0, now_.life->doing);
  if (record.blocking != 0) op.flags |= kBlocking;
  AddCopySide(target, kWrite);
  if (!now_.life->notes.empty()) TakeNotes(op, record.stream);
  CheckOverlap(op, Queues(stream));
  if (record.blocking != 0) BeginSync(op);
  if (!flags_.all().empty()) ResetFlags(stream, target.range, record.stack);
}

// Values in memory that streams write and wait for (rule 11). A flag is known by its address.
void Importer::State::On(const trace::StreamMemOp& record) {
  if (Failed(record.result)) return DropNotes(record.stream);
  const StreamLife stream = StreamOf(record.stream, record.context);
  for (size_t i = 0; i + 3 < record.operations.size(); i += 4) {
    const uint64_t* one = &record.operations[i];
    const bool waits = one[0] == kWaitValue32 || one[0] == kWaitValue64;
    const bool writes = one[0] == kWriteValue32 || one[0] == kWriteValue64;
    if (!waits && !writes) continue;  // barriers and flushes: ordered by the stream anyhow
    Op& op = EmitOn(waits ? OpKind::kAwait : OpKind::kSignal, stream, record.stack);
    op.object = flags_.Get(one[1]);
    op.aux = options_.rank;
    op.value = one[0] == kWaitValue32 || one[0] == kWriteValue32 ? one[2] & UINT32_MAX : one[2];
    if (writes && (one[3] & 1)) op.flags |= kNoBarrier;
    if (waits) op.flags |= ComparisonOf(one[3], one[0] == kWaitValue32);
    CheckOverlap(op, Queues(stream));
  }
}

// A flag that is set by a copy or a memset: mostly to 0, before it is used again.
void Importer::State::ResetFlags(const StreamLife& stream, Range range, uint64_t stack) {
  for (const auto& [address, flag] : flags_.all()) {
    if (address < range.begin || address >= range.end) continue;
    Op& op = EmitOn(OpKind::kSignal, stream, stack);
    op.object = flag;
    op.aux = options_.rank;
  }
}

// Its accesses come when it runs, under its token (NoteHostAccess). Only so many tokens are
// remembered: whether a host function has ended is not recorded.
void Importer::State::On(const trace::HostFunction& record) {
  if (Failed(record.result)) return DropNotes(record.stream);
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kHostFn, stream, record.stack);
  if (!now_.life->notes.empty()) TakeNotes(op, record.stream);
  if (record.token != 0) {
    host_functions_[record.token] = {op.id, stream.id};
    tokens_.push_back(record.token);
    if (tokens_.size() > kMaxTokens) {
      host_functions_.erase(tokens_.front());
      tokens_.pop_front();
    }
  }
  CheckOverlap(op, Queues(stream));
}

}  // namespace ss
