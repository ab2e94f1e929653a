#include "src/trace/carried_state.h"

#include <algorithm>

#include "src/trace/encode.h"

namespace ss::trace {
namespace {

enum class Role { kHistory, kName, kCreate, kDestroy, kCount };
struct Rule {
  Role role = Role::kHistory;
  uint32_t group = 0;       // id of the creating record
  unsigned key_fields = 1;  // how many of the first fields make the key; 0 = the thread does
  unsigned skipped = 0;     // fields in front of the key
};

Rule RuleOf(uint32_t id) {
  switch (id) {
    case Text::kId:
    case Stack::kId:
    case Module::kId:
    case Function::kId:
    case NoteBuffer::kId:
    case NoteStreamName::kId:
    case NoteDeviceFlag::kId:
    case Image::kId:
    case TensorMap::kId:
      return {Role::kName, id, 1};
    case NoteKernelAccess::kId:
    case ImageBytes::kId:
    case PlugIn::kId:
      return {Role::kName, id, 2};
    case ImageLoad::kId:
      return {Role::kName, id, 1, 1};
    case Shared::kId:
      return {Role::kName, id, 1, 2};
    case Process::kId:
    case Thread::kId:
    case ThreadEnd::kId:
    case NoteThreadName::kId:
    case Doing::kId:
    case OperatorTensors::kId:
    case Counters::kId:
    case ProcessEnd::kId:
      return {Role::kName, id, 0};
    case Fork::kId:
      return {Role::kName, id, 1};
    case Dropped::kId:
      return {Role::kCount, id, 0};
    case Unmodelled::kId:
      return {Role::kCount, id, 1};
    case ContextCreate::kId:
    case StreamCreate::kId:
    case EventCreate::kId:
    case Alloc::kId:
    case NcclComm::kId:
      return {Role::kCreate, id, 1};
    case AllocAsync::kId:
      return {Role::kCreate, Alloc::kId, 1};  // cuMemFree may free it, cuMemFreeAsync either
    case NotePoolAlloc::kId:
      return {Role::kCreate, id, 2};
    case ContextDestroy::kId:
      return {Role::kDestroy, ContextCreate::kId, 1};
    case StreamDestroy::kId:
      return {Role::kDestroy, StreamCreate::kId, 1};
    case EventDestroy::kId:
      return {Role::kDestroy, EventCreate::kId, 1};
    case NcclCommEnd::kId:
      return {Role::kDestroy, NcclComm::kId, 1};
    case Free::kId:
    case FreeAsync::kId:
      return {Role::kDestroy, Alloc::kId, 1};
    case NotePoolFree::kId:
      return {Role::kDestroy, NotePoolAlloc::kId, 2};
    default:
      return {};
  }
}

bool Failed(uint32_t thread, const RawRecord& raw) {
  Record record;
  if (!Decode(raw, thread, &record)) return true;
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.result; }) return body.result != 0;
        return false;
      },
      record.body);
}

std::string Wire(const RawRecord& raw) { return std::string(raw.whole.begin(), raw.whole.end()); }

uint64_t CountOf(uint32_t id, ByteSpan fields) {
  FieldReader reader(fields);
  if (id == Unmodelled::kId) reader.Varint();
  return reader.Varint();
}

std::string CountRecord(const RawRecord& raw, uint64_t key, uint64_t count) {
  uint8_t buffer[128];
  size_t bytes =
      raw.id == Dropped::kId
          ? Encode(buffer, sizeof buffer, raw.seq_before, raw.seq_after, view::Dropped{count})
          : Encode(buffer, sizeof buffer, raw.seq_before, raw.seq_after,
                   view::Unmodelled{.text_id = key, .count = count});
  return std::string(reinterpret_cast<char*>(buffer), bytes);
}

}  // namespace

void CarriedState::Apply(uint32_t thread, const RawRecord& raw) {
  Rule rule = RuleOf(raw.id);
  if (rule.role == Role::kHistory || Failed(thread, raw)) return;
  FieldReader reader(raw.fields);
  for (unsigned i = 0; i < rule.skipped; ++i) reader.Varint();
  Key key{rule.group, rule.key_fields ? reader.Varint() : thread, 0};
  if (rule.key_fields == 2) std::get<2>(key) = reader.Varint();
  if (rule.role == Role::kDestroy) return Forget(key, raw.seq_before);
  if (rule.role == Role::kCount) return AddCount(thread, raw);
  auto destroyed = destroyed_.find(key);
  if (destroyed != destroyed_.end() && destroyed->second > raw.seq_before) return;
  Keep(key, thread, raw);
}

void CarriedState::Keep(const Key& key, uint32_t thread, const RawRecord& raw) {
  auto [at, fresh] = kept_.try_emplace(key, Kept{thread, raw.seq_before, {}});
  if (!fresh && at->second.seq > raw.seq_before) return;
  at->second = {thread, raw.seq_before, Wire(raw)};
}

void CarriedState::Forget(const Key& key, uint64_t seq) {
  destroyed_[key] = std::max(destroyed_[key], seq);
  auto at = kept_.find(key);
  if (at != kept_.end() && at->second.seq < seq) kept_.erase(at);
}

void CarriedState::AddCount(uint32_t thread, const RawRecord& raw) {
  FieldReader reader(raw.fields);
  uint64_t text = raw.id == Unmodelled::kId ? reader.Varint() : 0;
  uint64_t count = CountOf(raw.id, raw.fields);
  Key key{raw.id, thread, text};
  if (auto at = kept_.find(key); at != kept_.end()) {
    RawRecord old;
    const std::string& wire = at->second.wire;
    ByteSpan bytes(reinterpret_cast<const uint8_t*>(wire.data()), wire.size());
    if (TakeRecord(&bytes, &old)) count += CountOf(old.id, old.fields);
  }
  kept_[key] = {thread, raw.seq_before, CountRecord(raw, text, count)};
}

std::vector<CarriedState::Kept> CarriedState::Records() const {
  std::vector<Kept> records;
  for (const auto& [key, kept] : kept_) records.push_back(kept);
  std::stable_sort(records.begin(), records.end(), [](const Kept& a, const Kept& b) {
    return std::tie(a.thread, a.seq) < std::tie(b.thread, b.seq);
  });
  return records;
}

}  // namespace ss::trace
