// Making operations and accesses: what all kinds of records have in common.
#include "src/base/printable.h"
#include "src/import/state.h"

namespace ss {
namespace {
constexpr uint64_t kAddressEnd = uint64_t{1} << 48;  // above are the rank bits
}

Op& Importer::State::Emit(OpKind kind, uint64_t stack) {
  if (!building_) SplitSyncs();
  if (!building_ && held_.size() > options_.max_held) {
    held_.ReleaseFirst(*now_.sink);
    counts_.Add(Count::kUnheldOps);
  }
  Op& op = held_.Push(now_.before, now_.after, now_ns_);
  op.kind = kind;
  op.host = now_.life->host;
  op.id = ++last_op_;
  op.stack = doings_.Stack(stack, now_.life->doing);
  if (exiting_) op.flags |= kProcessExit;
  if (now_.unordered) op.flags |= kAmbiguousOrder;
  return op;
}

Op& Importer::State::EmitOn(OpKind kind, const StreamLife& stream, uint64_t stack) {
  Op& op = Emit(kind, stack);
  op.stream = stream.id;
  return op;
}

// Call when `op` is complete but for its flags.
void Importer::State::BeginSync(Op& op) {
  if (building_ || now_.after == now_.before) return;
  syncs_.push_back({now_.thread, now_.after, held_.last(), op, false});
  // What it teaches the thread counts from its return on, among other processes' operations, too.
  if (now_ns_ != 0) Split(syncs_.back());
}

void Importer::State::CheckOverlap(Op& op, Touch touch) {
  if (building_) return;  // a node runs whenever its graph is launched
  if (overlaps_.Check(touch, held_.last(), held_)) op.flags |= kAmbiguousOrder;
}

Touch Importer::State::Looks(const StreamLife& stream) const {
  return {.thread = now_.thread,
          .before = now_.before,
          .after = now_.after,
          .stream = stream.id,
          .type = stream.type,
          .context = stream.context.id,
          .primary = stream.context.primary,
          .whole_context = stream.type == StreamType::kContext};
}

Touch Importer::State::Queues(const StreamLife& stream) const {
  Touch touch = Looks(stream);
  touch.changes_stream = true;
  return touch;
}

// Empty if nothing of it lies in the user's address space (a damaged record, an overflowing size).
Importer::State::Range Importer::State::MakeRange(uint64_t address, uint64_t bytes) {
  if (address < kAddressEnd && bytes <= kAddressEnd - address) return {address, address + bytes};
  counts_.Add(Count::kBadRanges);
  return {};
}

void Importer::State::AddAccess(Range range, uint8_t mode, MemoryKind memory, Evidence direction,
                                Evidence extent, ShapeId shape) {
  if (range.begin == range.end) return;
  held_.AddAccess({Tag(range.begin), Tag(range.end), mode, memory, direction, extent, shape});
}

bool Importer::State::Failed(int64_t result) {
  if (result == 0) return false;
  counts_.Add(Count::kFailedCalls);
  return true;
}

StringId Importer::State::TextOf(uint64_t text_id) {
  const StringId text = texts_.Get(text_id);
  if (text == 0) counts_.Add(Count::kUnknownTexts);
  return strings_.Intern(Printable(strings_.Get(text)));
}

}  // namespace ss
