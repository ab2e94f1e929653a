#include "src/explain/critical_path.h"

#include <algorithm>
#include <unordered_map>

#include "src/program/contexts.h"

namespace ss {
namespace {

class Walker {
 public:
  void Pass(const Op& op) {
    switch (op.kind) {
      case OpKind::kStreamCreate:
        types_[op.stream] = static_cast<StreamType>(op.aux);
        contexts_.Learn(op);
        break;
      case OpKind::kKernel:
      case OpKind::kCopy:
      case OpKind::kMemset:
      case OpKind::kHostFn:
      case OpKind::kCollective:
        Work(op);
        break;
      case OpKind::kHostAccess:
        if (op.aux != 1) Count(hosts_[op.host], hosts_[op.host]);
        break;
      case OpKind::kEventRecord:
        events_[op.object] = StartOn(op);
        break;
      case OpKind::kStreamWaitEvent:
        Raise(streams_[op.stream], events_[op.object]);
        break;
      case OpKind::kSignal:
        Raise(flags_[op.object], StartOn(op));
        break;
      case OpKind::kAwait:
        Raise(streams_[op.stream], flags_[op.object]);
        break;
      case OpKind::kHandoff:
        Raise(hosts_[static_cast<HostId>(op.object)], hosts_[op.host]);
        break;
      default:
        HostWaits(op);
        break;
    }
  }

  PathCost cost() const { return cost_; }

 private:
  static void Raise(uint64_t& to, uint64_t value) { to = std::max(to, value); }

  void Count(uint64_t& lane, uint64_t start) {
    lane = start + 1;
    Raise(cost_.length, lane);
    cost_.delay += lane;
  }

  // Rule 4: legacy waits for all blocking streams, and they for it. Rule 15: a record over a
  // context comes behind all its streams, and what it was made to wait for before whatever they do.
  uint64_t StartOn(const Op& op) {
    uint64_t start = std::max(streams_[op.stream], hosts_[op.host]);
    const StreamType type = types_[op.stream];
    if (type == StreamType::kContext) {
      for (const auto& [stream, depth] : streams_) {
        if (contexts_.Includes(op.stream, stream)) Raise(start, depth);
      }
    }
    contexts_.ForEachWhole(op.stream, [&](StreamId whole) { Raise(start, streams_[whole]); });
    if (type == StreamType::kLegacy) Raise(start, blocking_);
    if (type == StreamType::kBlocking || type == StreamType::kPerThread) Raise(start, legacy_);
    return start;
  }

  void Work(const Op& op) {
    uint64_t& stream = streams_[op.stream];
    Count(stream, StartOn(op));
    const StreamType type = types_[op.stream];
    if (type == StreamType::kLegacy) Raise(legacy_, stream);
    if (type == StreamType::kBlocking || type == StreamType::kPerThread) Raise(blocking_, stream);
    if (op.kind != OpKind::kHostFn && (op.flags & kLaunchEvent)) events_[op.object] = stream - 1;
    if (op.flags & kBlocking) Raise(hosts_[op.host], stream);
  }

  void HostWaits(const Op& op) {
    uint64_t& host = hosts_[op.host];
    if ((op.flags & kNotReady) != 0) return;
    if (op.kind == OpKind::kStreamSync || op.kind == OpKind::kStreamQuery) {
      Raise(host, streams_[op.stream]);
    } else if (op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery) {
      Raise(host, events_[op.object]);
    } else if (op.kind == OpKind::kDeviceSync) {
      for (const auto& [stream, depth] : streams_) {
        if (contexts_.Syncs(op, stream)) Raise(host, depth);
      }
    }
  }

  std::unordered_map<StreamId, StreamType> types_;
  ContextMap contexts_;
  std::unordered_map<StreamId, uint64_t> streams_;
  std::unordered_map<EventId, uint64_t> events_;
  std::unordered_map<uint32_t, uint64_t> flags_;
  std::unordered_map<HostId, uint64_t> hosts_;
  uint64_t legacy_ = 0, blocking_ = 0;
  PathCost cost_;
};

}  // namespace

PathCost CriticalPath(const Tape& tape, const Edit& edit) {
  Walker walker;
  ForEachEdited(tape, edit, [&](const Op& op, const Access*) { walker.Pass(op); });
  return walker.cost();
}

}  // namespace ss
