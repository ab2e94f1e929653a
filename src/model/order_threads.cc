// What host threads hand over to each other with the objects that they share (rule 3).
#include <algorithm>

#include "src/model/order.h"
#include "src/model/rules.h"

namespace ss {

void UserSet::AddHigh(uint32_t host) {
  if (std::find(high.begin(), high.end(), host) == high.end()) high.push_back(host);
}

void Order::Use(UserSet& users, Host& host) {
  if (host.taken.size() < versions_.size()) host.taken.resize(versions_.size(), 0);
  users.ForEach([&](uint32_t other) {
    const bool same_rank = hosts_[other]->rank == host.rank;
    if (same_rank && host.taken[other] != versions_[other]) LearnFrom(*hosts_[other], host);
  });
  if (users.gone && !host.clock.Covers(*users.gone)) {
    host.clock.Join(*users.gone);
    Changed(host);
  }
  users.Add(host.slot);
  users.last_user = host.slot;
  users.last_news = news_;
}

void Order::LearnFrom(Host& other, Host& host) {
  if (&other == &host) return;
  host.taken[other.slot] = other.version;
  if (host.clock.Covers(other.clock)) return;
  host.clock.Join(other.clock);
  Changed(host);
}

// How processes tell each other that memory is ready (pipes, sockets, counters in shared memory) is
// not seen. Whoever uses what they share now, in the order of time, is taken to know of all that
// the others had seen by then (rule 8).
void Order::LearnFromOtherRanks(Host& host) {
  if (host.taken.size() < versions_.size()) host.taken.resize(versions_.size(), 0);
  for (const auto& other : hosts_) {
    if (!other || other->rank == host.rank) continue;
    if (host.taken[other->slot] != other->version) LearnFrom(*other, host);
  }
  for (const auto& [rank, seen] : seen_) {  // of threads that have ended, too
    if (rank == host.rank || host.clock.Covers(seen)) continue;
    host.clock.Join(seen);
    Changed(host);
  }
}

// Creation, allocation and plain CPU accesses neither give nor take.
void Order::HandOver(const Op& op, std::vector<UserSet*>& users) {
  if (strict_ || !RuleOn(Rule::kHandOver)) return;
  if (op.flags & kShared) LearnFromOtherRanks(EnsureHost(op.host));
  switch (op.kind) {
    case OpKind::kHostAccess:
    case OpKind::kAlloc:
    case OpKind::kHostBegin:
    case OpKind::kStreamCreate:
    case OpKind::kStreamDestroy:
    case OpKind::kEventDestroy:
    case OpKind::kHandoff:
    case OpKind::kDeviceSync:
    case OpKind::kSyncEnd:
    case OpKind::kTagRelease:
    case OpKind::kTagAcquire:
    case OpKind::kHostEnd:
    case OpKind::kBufferName:
    case OpKind::kGraphDestroy:
      return;
    default:
      break;
  }
  Host& host = EnsureHost(op.host);
  bool on_event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent ||
                  op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery ||
                  (op.flags & kLaunchEvent);
  if (on_event) Use(events_[op.object].users, host);
  if (op.kind != OpKind::kFree && op.stream != 0) {
    if (Stream* stream = FindStream(op.stream, op.host)) Use(stream->users, host);
  }
  for (UserSet* buffer : users) {
    if (buffer->last_user != host.slot || buffer->last_news != news_) Use(*buffer, host);
  }
  if (op.flags & kSameBatch) HandOverToBatch(op, users, host);
}

// A batch is one call, which uses the buffers of all of its copies. What the thread has learned
// from the copies before, as far as it waited for them, does not belong to it.
void Order::HandOverToBatch(const Op& op, const std::vector<UserSet*>& users, const Host& host) {
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr || stream->batch_start == nullptr) return;
  Clock gained;
  for (const UserSet* buffer : users) {
    if (buffer->gone) gained.Join(*buffer->gone);
    buffer->ForEach([&](uint32_t slot) {
      const Host& other = *hosts_[slot];
      if (other.rank == host.rank && slot != host.slot) gained.Join(other.clock);
    });
  }
  if (op.flags & kShared) {
    for (const auto& other : hosts_) {
      if (other && other->rank != host.rank) gained.Join(other->clock);
    }
    for (const auto& [rank, seen] : seen_) {
      if (rank != host.rank) gained.Join(seen);
    }
  }
  stream->batch_host->Join(gained);
  stream->batch_start->Join(gained);
}

}  // namespace ss
