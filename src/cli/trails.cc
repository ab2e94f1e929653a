#include "src/cli/trails.h"

#include <algorithm>

namespace ss {
namespace {

// What the capture library puts a mark behind.
bool IsMarked(const Op& op) {
  switch (op.kind) {
    case OpKind::kCopy:
    case OpKind::kMemset:
      return (op.flags & kBlocking) == 0;
    case OpKind::kKernel:
    case OpKind::kHostFn:
    case OpKind::kGraphLaunch:
    case OpKind::kEventRecord:
    case OpKind::kStreamWaitEvent:
    case OpKind::kAllocAsync:
    case OpKind::kFreeAsync:
    case OpKind::kSignal:
    case OpKind::kAwait:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A stream is known by its first operation that has a mark.
Trails::Stream* Trails::Find(const Op& op, uint64_t number) {
  const auto known = streams_.find(op.stream);
  if (known != streams_.end()) return &known->second;
  const uint32_t used = std::min(crumbs_->used.load(std::memory_order_acquire), trace::kCrumbSlots);
  for (uint32_t i = 0; i < used; ++i) {
    if (crumbs_->slots[i].first.load(std::memory_order_acquire) != number) continue;
    Stream& stream = streams_[op.stream];
    stream.slot = &crumbs_->slots[i];
    stream.first = number;
    return &stream;
  }
  return nullptr;
}

void Trails::Take(const Op& op, uint64_t number) {
  if (op.kind == OpKind::kCaptureBegin || op.kind == OpKind::kCaptureEnd)
    in_graph_ = op.kind == OpKind::kCaptureBegin;
  if (op.kind == OpKind::kStreamDestroy) streams_.erase(op.stream);
  if (in_graph_ || op.stream == 0 || !IsMarked(op)) return;
  Stream* stream = Find(op, number);
  if (!stream) return;
  Advance(*stream);
  if (stream->open.size() < kMaxOpen) {
    stream->open.push_back({number, op});
  } else {
    ++stream->more;
  }
}

void Trails::Advance(Stream& stream) {
  if (stream.slot->first.load(std::memory_order_acquire) != stream.first) return;  // another's now
  const uint64_t done = stream.slot->done.load(std::memory_order_acquire);
  while (!stream.open.empty() && stream.open.front().number <= done) {
    stream.finished = stream.open.front().op;
    stream.open.pop_front();
  }
}

std::vector<Trail> Trails::Tell(const std::function<Site(const Op&)>& site_of) {
  std::vector<Trail> trails;
  for (auto& [id, stream] : streams_) {
    Advance(stream);
    Trail trail;
    if (stream.finished) trail.finished = site_of(*stream.finished);
    if (!stream.open.empty()) {
      trail.next = site_of(stream.open.front().op);
      trail.behind = stream.open.size() - 1 + stream.more;
    }
    trails.push_back(std::move(trail));
  }
  return trails;
}

}  // namespace ss
