#include "src/import/hold.h"

namespace ss {
namespace {
constexpr size_t kCompactAt = 4096;  // entries; small enough to stay in the cache
}

Op& HoldQueue::Push(uint64_t number, uint64_t release_at, uint64_t ns) {
  entries_.push_back({Op{}, number, release_at, ns, accesses_.size()});
  return entries_.back().op;
}

void HoldQueue::AddAccess(const Access& access) {
  accesses_.push_back(access);
  ++entries_.back().op.access_count;
}

void HoldQueue::ClearAccesses() {
  accesses_.resize(entries_.back().access);
  entries_.back().op.access_count = 0;
}

Op* HoldQueue::Find(Ticket ticket) {
  const uint64_t index = ticket - first_ticket_;
  return ticket < first_ticket_ + head_ || index >= entries_.size() ? nullptr : &entries_[index].op;
}

std::span<const Access> HoldQueue::Accesses(Ticket ticket) const {
  const Entry& entry = entries_[ticket - first_ticket_];
  return std::span(accesses_).subspan(entry.access, entry.op.access_count);
}

void HoldQueue::Unhold(Ticket ticket) {
  if (Find(ticket) != nullptr) entries_[ticket - first_ticket_].release_at = 0;
}

void HoldQueue::Release(uint64_t seq, ImportSink& sink) {
  while (head_ < entries_.size() && entries_[head_].release_at <= seq) ReleaseFirst(sink);
}

void HoldQueue::ReleaseFirst(ImportSink& sink) {
  const Entry& entry = entries_[head_++];
  if (entry.op.flags & kAmbiguousOrder) ++ambiguous_;
  sink.OnRecord(entry.number, entry.ns);
  sink.OnOp(entry.op, std::span(accesses_).subspan(entry.access, entry.op.access_count));
  if (head_ == entries_.size() || head_ >= kCompactAt) Compact();
}

// Moves what waits to the front, at most once per kCompactAt operations unless that is nothing.
void HoldQueue::Compact() {
  const size_t accesses_gone = head_ < entries_.size() ? entries_[head_].access : accesses_.size();
  accesses_.erase(accesses_.begin(), accesses_.begin() + static_cast<ptrdiff_t>(accesses_gone));
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(head_));
  for (Entry& entry : entries_) entry.access -= accesses_gone;
  first_ticket_ += head_;
  head_ = 0;
}

}  // namespace ss
