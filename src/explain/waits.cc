// The waits of a program, and how they are called.
#include <fmt/format.h>

#include <unordered_map>

#include "src/explain/ablate.h"
#include "src/explain/window.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

bool IsWait(const Op& op) {
  if ((op.flags & kSynthetic) != 0) return false;
  switch (op.kind) {
    case OpKind::kStreamWaitEvent:
    case OpKind::kStreamSync:
    case OpKind::kEventSync:
    case OpKind::kDeviceSync:
      return true;
    case OpKind::kRecordStream:
      return (op.flags & kAllocatorInternal) == 0;
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
      return (op.flags & (kNotReady | kAllocatorInternal)) == 0;
    default:
      return false;
  }
}

// Names as they are at the present operation.
class Namer {
 public:
  Namer(const Program& names, bool ranks) : names_(names), ranks_(ranks) {}

  void Pass(const Op& op) {
    switch (op.kind) {
      case OpKind::kStreamCreate:
        streams_[op.stream] = {op.name, static_cast<uint32_t>(op.value >> 32)};
        LearnContext(op);
        break;
      case OpKind::kHostBegin:
        hosts_[op.host] = {op.name, op.aux};
        break;
      case OpKind::kEventRecord:
        recorded_on_[op.object] = op.stream;
        break;
      case OpKind::kKernel:
        if ((op.flags & kLaunchEvent) != 0) recorded_on_[op.object] = op.stream;
        break;
      case OpKind::kAlloc:
      case OpKind::kAllocAsync:
      case OpKind::kBufferName:
        buffers_[op.object] = op.name;
        break;
      default:
        break;
    }
  }

  std::string Host(HostId host) const { return Known(hosts_, host, "main"); }
  std::string Stream(StreamId stream) const {
    return Known(streams_, stream, fmt::format("stream#{}", stream));
  }
  // What a synchronisation of a device, or of one context of it, waits for.
  std::string Device(const Op& sync) const {
    const auto context = contexts_.find((sync.object - 1) | sync.value << 16);
    if (sync.object != 0 && context != contexts_.end()) {
      if (context->second.whole != 0) return "context " + Stream(context->second.whole);
      if (context->second.green) return "a green context";
    }
    return sync.aux == 0 ? "the device" : fmt::format("device {}", sync.aux);
  }
  // An event without a name is told by where it was recorded.
  std::string Event(EventId event) const {
    auto record = recorded_on_.find(event);
    std::string on = record == recorded_on_.end() ? "" : Stream(record->second);
    std::string name = event < names_.event_names.size() ? names_.event_names[event] : "";
    if (on.empty()) return name.empty() ? "an event never recorded" : name + ", never recorded";
    return name.empty() ? "an event of " + on : fmt::format("{} of {}", name, on);
  }
  std::string Buffer(BufferId buffer) const {
    auto found = buffers_.find(buffer);
    return BufferLabel(names_.strings, found == buffers_.end() ? 0 : found->second, buffer);
  }

 private:
  struct Lane {
    StringId name = 0;
    uint32_t rank = 0;
  };
  struct Context {
    StreamId whole = 0;  // what stands for all its streams, if anything does
    bool green = false;
  };
  void LearnContext(const Op& create) {
    Context& context = contexts_[create.value >> 16];
    context.green |= create.object != 0;
    if (static_cast<StreamType>(create.aux) == StreamType::kContext) context.whole = create.stream;
  }
  using Lanes = std::unordered_map<uint32_t, Lane>;
  std::string Known(const Lanes& lanes, uint32_t id, const std::string& otherwise) const {
    auto found = lanes.find(id);
    const Lane lane = found == lanes.end() ? Lane{} : found->second;
    const std::string& name = lane.name == 0 ? otherwise : names_.strings.Get(lane.name);
    return ranks_ ? fmt::format("rank{} {}", lane.rank, name) : name;
  }

  const Program& names_;
  const bool ranks_;  // there are several
  Lanes streams_, hosts_;
  std::unordered_map<uint64_t, Context> contexts_;  // by number and rank
  std::unordered_map<BufferId, StringId> buffers_;
  std::unordered_map<EventId, StreamId> recorded_on_;
};

std::string Text(const Op& op, const Namer& namer) {
  const std::string host = namer.Host(op.host);
  switch (op.kind) {
    case OpKind::kStreamWaitEvent:
      return fmt::format("{} waits for {}", namer.Stream(op.stream),
                         op.aux ? namer.Stream(op.aux) : namer.Event(op.object));
    case OpKind::kStreamSync:
      return fmt::format("{} waits for {}", host, namer.Stream(op.stream));
    case OpKind::kEventSync:
      return fmt::format("{} waits for {}", host, namer.Event(op.object));
    case OpKind::kStreamQuery:
      return fmt::format("{} saw {} complete", host, namer.Stream(op.stream));
    case OpKind::kEventQuery:
      return fmt::format("{} saw {} complete", host, namer.Event(op.object));
    case OpKind::kRecordStream:
      return fmt::format("record_stream({}, {})", namer.Buffer(op.object), namer.Stream(op.stream));
    default:
      return fmt::format("{} waits for {}", host, namer.Device(op));
  }
}

}  // namespace

const char* Name(WaitVerdict verdict) {
  static constexpr const char* kNames[] = {"load-bearing", "redundant", "not-tried"};
  return kNames[static_cast<size_t>(verdict)];
}

std::vector<Wait> FindWaits(const Tape& tape) {
  std::vector<Wait> waits;
  Namer namer(*tape.names, LaneNames(tape).several_ranks());
  for (size_t i = 0; i < tape.ops->size(); ++i) {
    const Op& op = (*tape.ops)[i];
    namer.Pass(op);
    if (!IsWait(op)) continue;
    Wait wait;
    wait.index = i;
    wait.op = op.id;
    wait.kind = op.kind;
    wait.text = Text(op, namer);
    wait.host = namer.Host(op.host);
    wait.stack = op.stack;
    wait.line = op.line;
    waits.push_back(std::move(wait));
  }
  return waits;
}

void TakeOut(const Tape& tape, size_t index, Edit* edit) {
  edit->removals.insert(index);
  const Op& wait = (*tape.ops)[index];
  if ((wait.flags & kSyncBegin) == 0) return;
  for (size_t i = index + 1; i < tape.ops->size(); ++i) {
    const Op& op = (*tape.ops)[i];
    if (op.kind != OpKind::kSyncEnd || op.value != wait.id) continue;
    edit->removals.insert(i);
    break;
  }
}

Edit WithoutWait(const Tape& tape, size_t index) {
  Edit edit;
  TakeOut(tape, index, &edit);
  return edit;
}

}  // namespace ss
