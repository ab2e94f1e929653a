// The window in which operations wait, in their final order, until everything that overlaps them
// has been seen. Reuses its memory: nothing is allocated once it has grown to the size that a
// program needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/import/importer.h"
#include "src/program/op.h"

namespace ss {

class HoldQueue {
 public:
  // Position of an operation: counts up, is never reused.
  using Ticket = uint64_t;

  // A new last operation, of the record `number`, not before the time `ns`; it may leave when
  // `release_at` is reached. The reference holds until the next call.
  Op& Push(uint64_t number, uint64_t release_at, uint64_t ns);
  void AddAccess(const Access& access);  // to the last operation
  void ClearAccesses();                  // of the last operation
  std::span<Access> LastAccesses() {     // of the last operation, to be changed
    return std::span(accesses_).subspan(entries_.back().access);
  }

  Ticket last() const { return first_ticket_ + entries_.size() - 1; }
  // Null when it has left.
  Op* Find(Ticket ticket);
  std::span<const Access> Accesses(Ticket ticket) const;
  // It need not wait any more.
  void Unhold(Ticket ticket);

  // Lets out the operations at the front that wait for nothing beyond `seq`. Strictly in order: one
  // that still waits keeps back those behind it.
  void Release(uint64_t seq, ImportSink& sink);
  void ReleaseFirst(ImportSink& sink);
  size_t size() const { return entries_.size() - head_; }
  uint64_t ambiguous() const { return ambiguous_; }  // operations let out with kAmbiguousOrder

 private:
  struct Entry {
    Op op;
    uint64_t number;
    uint64_t release_at;
    uint64_t ns;
    size_t access;  // first one, into accesses_
  };

  void Compact();

  std::vector<Entry> entries_;
  std::vector<Access> accesses_;
  size_t head_ = 0;
  Ticket first_ticket_ = 0;  // of entries_[0]
  uint64_t ambiguous_ = 0;
};

}  // namespace ss
