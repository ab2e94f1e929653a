// Records about contexts, streams and events, and the synchronisations on them.
#include "src/import/state.h"

namespace ss {
namespace {
constexpr int64_t kNotReadyResult = 600;  // CUDA_ERROR_NOT_READY
constexpr uint64_t kNonBlockingFlag = 1;  // CU_STREAM_NON_BLOCKING

// Of a record or a wait. One over a context cannot be captured.
template <typename Body>
uint32_t FlagsOf(const Body& record) {
  if constexpr (requires { record.flags; }) return record.flags != 0 ? uint32_t{kExternal} : 0;
  return 0;
}

}  // namespace

ContextLife Importer::State::ContextOf(uint64_t handle) {
  bool known = false;
  const ContextLife& life = contexts_.Get(handle, &known);
  if (!known) counts_.Add(Count::kLateContexts);
  return life;
}

void Importer::State::On(const trace::ContextCreate& record) {
  if (record.primary == 0)
    return static_cast<void>(contexts_.Create(record.context, record.device));
  const ContextLife primary = ContextOf(record.primary);
  contexts_.Create(record.context, record.device, &primary);
}

// Destroys everything in it; what a green one was current for, but for its streams, is the primary
// context's. The memory's tenancies end without a verdict: the driver waits for the
// context's work, and what a program leaves to this call it has ceased to care about.
void Importer::State::On(const trace::ContextDestroy& record) {
  for (StreamId stream : streams_.RemoveContext(record.context)) EmitDestroy(stream);
  if (contexts_.IsGreen(record.context)) {
    contexts_.Destroy(record.context);
    return;
  }
  for (EventId event : events_.RemoveContext(record.context)) {
    Emit(OpKind::kEventDestroy).object = event;
  }
  std::vector<Block*> blocks;
  memory_.OfContext(record.context, blocks);
  for (Block* block : blocks) {
    block->carved = true;
    EndDriverBlock(*block, OpKind::kFree, 0);
  }
  if (!contexts_.Destroy(record.context)) counts_.Add(Count::kUnknownDestroys);
}

void Importer::State::EmitStream(const StreamLife& stream, uint64_t stack) {
  Op& op = EmitOn(OpKind::kStreamCreate, stream, stack);
  op.name = stream.name;
  op.aux = static_cast<uint32_t>(stream.type);
  op.object = stream.context.primary;
  op.value =
      stream.context.device | uint64_t{stream.context.id} << 16 | uint64_t{options_.rank} << 32;
}

void Importer::State::EmitDestroy(StreamId stream) { Emit(OpKind::kStreamDestroy).stream = stream; }

StreamLife& Importer::State::MakeStream(uint64_t handle, uint64_t context, StreamType type,
                                        uint64_t stack) {
  const ContextLife home = ContextOf(context);
  StreamLife& stream = streams_.Create(handle, home, now_.thread, type);
  stream.name =
      strings_.Intern(type == StreamType::kContext ? "context#" + std::to_string(home.id)
                                                   : "stream#" + std::to_string(stream.id - 1));
  stream_names_.push_back(stream.name);
  EmitStream(stream, stack);
  return stream;
}

StreamLife& Importer::State::StreamOf(uint64_t handle, uint64_t context) {
  if (handle == 0 && building_) return by_hand_;
  handle = ResolvedHandle(handle);
  StreamLife* stream = streams_.Find(handle, context, now_.thread);
  if (stream != nullptr) return *stream;
  if (handle == kLegacyHandle) return MakeStream(handle, context, StreamType::kLegacy, 0);
  if (handle == kPerThreadHandle) return MakeStream(handle, context, StreamType::kPerThread, 0);
  // Its flags are not known. A blocking stream has the more edges, so that this invents no hazard.
  counts_.Add(Count::kLateStreams);
  return MakeStream(handle, context, StreamType::kBlocking, 0);
}

EventId Importer::State::EventOf(uint64_t handle, uint64_t context) {
  const EventId event = events_.Find(handle);
  if (event != 0) return event;
  counts_.Add(Count::kLateEvents);
  return events_.Create(handle, context);
}

// A handle that still has a life was destroyed unseen, or with something that was not modelled.
void Importer::State::On(const trace::StreamCreate& record) {
  if (StreamLife* old = streams_.Find(record.stream, record.context, now_.thread))
    EmitDestroy(old->id);
  // Those of a green context do not order with its default stream, whatever their flags say
  // (probed).
  const bool non_blocking =
      (record.flags & kNonBlockingFlag) != 0 || contexts_.IsGreen(record.context);
  MakeStream(record.stream, record.context,
             non_blocking ? StreamType::kNonBlocking : StreamType::kBlocking, record.stack);
}

void Importer::State::On(const trace::StreamDestroy& record) {
  StreamLife* stream = streams_.Find(record.stream, record.context, now_.thread);
  if (stream == nullptr) return counts_.Add(Count::kUnknownDestroys);
  EmitDestroy(stream->id);
  streams_.Remove(record.stream, record.context, now_.thread);
}

void Importer::State::On(const trace::EventCreate& record) {
  if (EventId old = events_.Find(record.event)) Emit(OpKind::kEventDestroy).object = old;
  const EventId event = events_.Create(record.event, record.context);
  if (record.foreign != 0) foreign_events_.insert(event);
}

void Importer::State::On(const trace::EventDestroy& record) {
  const EventId event = events_.Remove(record.event);
  if (event == 0) return counts_.Add(Count::kUnknownDestroys);
  Emit(OpKind::kEventDestroy).object = event;
}

void Importer::State::On(const trace::EventRecord& record) {
  if (Failed(record.result)) return;
  RecordOn(StreamOf(record.stream, record.context), record);
}

void Importer::State::On(const trace::ContextRecord& record) {
  if (!Failed(record.result)) RecordOn(WholeOf(record.context), record);
}

// All streams of the context at once; made at the first event over it.
StreamLife& Importer::State::WholeOf(uint64_t context) {
  StreamLife* whole = streams_.Find(kWholeHandle, context, now_.thread);
  return whole ? *whole : MakeStream(kWholeHandle, context, StreamType::kContext, 0);
}

template <typename Body>
void Importer::State::RecordOn(const StreamLife& stream, const Body& record) {
  const EventId event = EventOf(record.event, record.context);
  foreign_events_.erase(event);  // recorded here: a wait means that, as far as it is known
  Op& op = EmitOn(OpKind::kEventRecord, stream, record.stack);
  op.object = event;
  op.flags |= FlagsOf(record);
  Touch touch = Looks(stream);
  touch.event = event;
  touch.changes_event = true;
  CheckOverlap(op, touch);
}

// Without the other process's trace it orders nothing (rule 8).
void Importer::State::MarkForeign(Op& op) {
  if (shared_events_.contains(op.object)) op.flags |= kForeign;
  if (!foreign_events_.contains(op.object)) return;
  op.flags |= kForeign;
  auto same = [&](const SharedThing& thing) { return thing.event && thing.id == op.object; };
  auto thing = std::find_if(shared_.rbegin(), shared_.rend(), same);
  if (thing != shared_.rend()) ++thing->waits;
}

void Importer::State::On(const trace::StreamWaitEvent& record) {
  if (Failed(record.result)) return;
  WaitOn(StreamOf(record.stream, record.context), record);
}

void Importer::State::On(const trace::ContextWait& record) {
  if (!Failed(record.result)) WaitOn(WholeOf(record.context), record);
}

template <typename Body>
void Importer::State::WaitOn(const StreamLife& stream, const Body& record) {
  const EventId event = EventOf(record.event, record.context);
  Op& op = EmitOn(OpKind::kStreamWaitEvent, stream, record.stack);
  op.object = event;
  MarkForeign(op);
  op.flags |= FlagsOf(record);
  Touch touch = Queues(stream);
  touch.event = event;
  CheckOverlap(op, touch);
}

// A synchronisation takes its snapshot when it is called, and what is queued while it waits does
// not matter: only a call that was under way at its beginning is ambiguous.
void Importer::State::On(const trace::StreamSync& record) {
  if (Failed(record.result)) return;
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kStreamSync, stream, record.stack);
  Touch touch = Looks(stream);
  touch.after = touch.before;
  CheckOverlap(op, touch);
  BeginSync(op);
}

void Importer::State::On(const trace::EventSync& record) {
  if (Failed(record.result)) return;
  const EventId event = EventOf(record.event, 0);
  Op& op = Emit(OpKind::kEventSync, record.stack);
  op.object = event;
  MarkForeign(op);
  CheckOverlap(
      op, {.thread = now_.thread, .before = now_.before, .after = now_.before, .event = event});
  BeginSync(op);
}

void Importer::State::On(const trace::ContextSync& record) {
  if (Failed(record.result)) return;
  const ContextLife context = ContextOf(record.context);
  Op& op = Emit(OpKind::kDeviceSync, record.stack);
  op.aux = context.device;
  op.value = options_.rank;
  op.object = context.id + 1;
  CheckOverlap(op, {.thread = now_.thread,
                    .before = now_.before,
                    .after = now_.before,
                    .context = context.id,
                    .primary = context.primary,
                    .whole_context = true});
  BeginSync(op);
}

void Importer::State::On(const trace::StreamQuery& record) {
  if (record.result != kNotReadyResult && Failed(record.result)) return;
  const StreamLife& stream = StreamOf(record.stream, record.context);
  Op& op = EmitOn(OpKind::kStreamQuery, stream, record.stack);
  if (record.result == kNotReadyResult) op.flags |= kNotReady;
  if (record.in_allocator != 0) op.flags |= kAllocatorInternal;
  CheckOverlap(op, Looks(stream));
}

void Importer::State::On(const trace::EventQuery& record) {
  if (record.result != kNotReadyResult && Failed(record.result)) return;
  const EventId event = EventOf(record.event, 0);
  Op& op = Emit(OpKind::kEventQuery, record.stack);
  op.object = event;
  if (shared_events_.contains(event)) op.flags |= kForeign;
  if (record.result == kNotReadyResult) op.flags |= kNotReady;
  if (record.in_allocator != 0) op.flags |= kAllocatorInternal;
  CheckOverlap(op,
               {.thread = now_.thread, .before = now_.before, .after = now_.after, .event = event});
}

}  // namespace ss
