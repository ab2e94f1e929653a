// Streams: made, found under all their names, retired (rules 1, 4).
#include <algorithm>

#include "src/model/order.h"
#include "src/model/rules.h"

namespace ss {
Stream* Order::MakeStream(const Op& op, HostId thread) {
  auto stream = std::make_unique<Stream>();
  stream->id = op.stream;
  stream->type = static_cast<StreamType>(op.aux);
  Place(*stream, op);
  stream->name = op.name;
  stream->thread = thread;
  stream->lane = NewLane(Lane::Kind::kStream);
  stream->epoch = lanes_[stream->lane].epoch;
  lanes_[stream->lane].stream = stream.get();
  bool per_thread = stream->type == StreamType::kPerThread;
  Stream* raw = stream.get();
  streams_[StreamKey(op.stream, per_thread, thread)] = std::move(stream);
  return raw;
}

void Order::Place(Stream& stream, const Op& op) {
  stream.context = op.value >> 16;
  stream.home = HomeOf(op);
  stream.device = static_cast<uint32_t>(op.value & 0xffff);
  stream.rank = static_cast<uint32_t>(op.value >> 32);
}

// One legacy stream a context: a second declaration is another name for the same lane.
void Order::Create(const Op& op) {
  auto type = static_cast<StreamType>(op.aux);
  if (Stream* known = type == StreamType::kPerThread ? nullptr : FindStream(op.stream, op.host)) {
    known->name = op.name;                              // renamed by an annotation
    if (type == StreamType::kGraph) Place(*known, op);  // launched in another context now
    return;
  }
  if (type == StreamType::kPerThread) {
    templates_[op.stream] = op;
    for (auto& [key, stream] : streams_) {
      if (stream->id == op.stream) stream->name = op.name;
    }
    return;
  }
  Context& context = *HomeOf(op);
  if (type == StreamType::kLegacy && context.legacy != nullptr) {
    aliases_[op.stream] = context.legacy;
    return;
  }
  if (!RuleOn(Rule::kStreamGeneration)) {
    for (auto& [key, old] : streams_) {
      if (old->name != op.name || old->context != op.value >> 16) continue;
      aliases_[op.stream] = old.get();
      return;
    }
  }
  Stream* stream = MakeStream(op, 0);
  if (type == StreamType::kBlocking) context.blocking.push_back(stream);
  if (!RuleOn(Rule::kNonBlockingApart) && type == StreamType::kNonBlocking) {
    context.blocking.push_back(stream);
  }
  if (type == StreamType::kLegacy) context.legacy = stream;
  if (type == StreamType::kContext) context.whole = stream;
}

Stream* Order::LookUpStream(StreamId id, HostId host) {
  if (auto found = streams_.find(id); found != streams_.end()) {
    last_found_ = id;
    return last_stream_ = found->second.get();
  }
  if (auto found = aliases_.find(id); found != aliases_.end()) return found->second;
  if (!RuleOn(Rule::kPerThreadLane)) host = 0;
  if (auto found = streams_.find(StreamKey(id, true, host)); found != streams_.end()) {
    return found->second.get();
  }
  auto made = templates_.find(id);
  if (made == templates_.end()) return nullptr;
  Stream* stream = MakeStream(made->second, host);
  stream->home->blocking.push_back(stream);
  return stream;
}

void Order::Destroy(const Op& op) {
  if (!RuleOn(Rule::kStreamGeneration)) return;
  if (auto found = streams_.find(op.stream); found != streams_.end()) Retire(found->second.get());
  if (templates_.erase(op.stream) == 0) return;
  for (auto& [key, stream] : streams_) {
    if (stream->id == op.stream) Retire(stream.get());
  }
}

void Order::Retire(Stream* stream) {
  if (stream->destroyed) return;
  stream->destroyed = true;
  auto& blocking = stream->home->blocking;
  // What a blocking stream did is still waited for by the legacy stream's next operation.
  if (Stream* legacy = stream->home->legacy;
      legacy != nullptr && std::find(blocking.begin(), blocking.end(), stream) != blocking.end()) {
    JoinInto(*legacy, *stream);
  }
  std::erase(blocking, stream);
  if (stream->home->whole == stream) stream->home->whole = nullptr;
  retired_lanes_.push_back(stream->lane);
}

}  // namespace ss
