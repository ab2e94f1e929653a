// The detectors: feeds operations through the model and turns what is unordered into findings.
//
// One pass, in order, bounded by live state. The hazards live in one file each: races.cc,
// lifetime.cc, pool.cc (stream-ordered allocation), advice.cc. After a finding the checker goes on
// as if the missing edge were there for that buffer, so that one cause is one finding: such edges
// are kept beside the tenant (ConditionalEdge) and are looked at only where the real order says
// "unordered".
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/detect/collectives.h"
#include "src/detect/op_log.h"
#include "src/detect/running.h"
#include "src/model/meet.h"
#include "src/model/order.h"
#include "src/model/shadow.h"
#include "src/model/tenant.h"
#include "src/program/finding.h"
#include "src/program/op.h"

namespace ss {

struct CheckOptions {
  bool strict = false;    // rule 3: unknown CPU synchronisation gives no edge
  bool recorded = false;  // a recorded program: lifetimes without a next allocation are `possible`
  bool keep_absorbed =
      false;  // also return what earlier findings settle (litmus expectations may name it)
  // An access of unknown extent is compared at the byte where it begins only. What that leaves out
  // is `possible` at most (WeaklyEvidenced), and costs a look at every other pointer into the
  // block.
  bool beginnings_only = false;
  // A race settles no other one: every pair without an order is an instance. Where thousands of
  // waits are gone at once, that is also faster than going on as if each missing edge were there.
  bool every_pair = false;
  size_t max_instances = 1024;  // positions kept per finding, for verification
};

struct CheckResult {
  std::vector<Finding> findings;
  std::vector<std::string> keys;  // of the findings, in step: equal keys = equal code and sites
  std::vector<Advice> advice;
  std::vector<PlacedCollective> collectives;
  std::vector<Site> running;  // the last work of each stream, if no thread has seen its end
  bool unsettled = false;  // signals or ranks: the clocks were still changing when the walks ended
  uint64_t muted_private = 0;
  uint64_t untracked_bytes_accesses = 0;  // accesses that touched memory nobody allocated
  uint64_t beginnings = 0;                // accesses that were compared where they begin only
  uint64_t forgotten = 0;  // accesses of parts of a block that had to make room for later ones
  Stats stats;
};

class Checker {
 public:
  // `program` supplies names; it may grow while operations are fed.
  Checker(const Program& program, const CheckOptions& options);
  ~Checker();

  // `accesses` points to op.access_count accesses, needed during the call only.
  void Feed(const Op& op, const Access* accesses);
  CheckResult Finish();
  // Signals and ranks: see src/model/cross.h. Both must outlive the checker.
  void Carry(const CrossClocks* before, CrossClocks* now) { order_.Carry(before, now); }
  size_t hazards() const { return findings_.size(); }
  // As findings name it. Of one that was fed.
  Site SiteOf(const Op& op) const { return MakeSite(op, 0); }
  const std::vector<PlacedCollective>& collectives() const { return collectives_.placed(); }

 private:
  struct Conflict {
    Entry first;
    Entry second;
    Tenant* tenant = nullptr;
    uint64_t begin = 0, end = 0;
  };
  struct Part {  // of one of its accesses
    uint64_t begin = 0, end = 0;
    uint64_t access_begin = 0, access_end = 0;
    ShapeId shape = 0;
  };
  struct Use {
    Entry entry;
    uint64_t begin = 0, end = 0;  // from the first to the last of its bytes
    std::vector<Part> parts;
    Clock frontier;  // of its lane, at the free
  };
  // A free whose uses are not all covered yet: decided by the next allocation (rule 19).
  struct Pending {
    Tenant* tenant = nullptr;
    std::vector<Use> uses;  // latest first
    Clock known;            // at the free: owner, host, recorded streams, edges of earlier findings
  };
  using OwnerKey = std::pair<LaneId, uint32_t>;  // owner's lane, allocator

  // checker.cc
  void CollectUsers(const Op& op, const Access* accesses);
  void Touch(const Op& op, size_t index, const Step& step, const Access* accesses);
  void TouchAll(const Op& op, size_t index, const Step& step, const Access* accesses, bool writing);
  void JudgeTouched(const Op& op, size_t index, const Step& step);
  void TouchRange(const Op& op, size_t index, const Step& step, Access access);
  void TouchCell(uint64_t begin, Cell& cell, const Entry& entry, const Step& step);
  void AddUsers(const Access& access);
  // crossed.cc
  void TouchCrossed(uint64_t begin, Cell& cell, const Entry& entry, const Step& step);
  std::vector<Entry> Hiding(Cell& cell, const Entry& entry, const Step& step);
  bool Hides(const Cell& cell, const Entry& hiding, const Entry& first) const;
  bool InIssueOrder(size_t index);
  void KeepAll(Cell& cell, const Entry& entry, bool reversed);
  void DropKnown(Cell& cell, const Entry& entry);
  void AddPast(Cell& cell, const Entry& entry);
  template <typename Settled>
  void Settle(Cell& cell, Settled settled);
  void DropSubsumed(Cell& cell, const Entry& entry, const Step& step);
  bool LateUsesAlone(const Tenant& freed, const Entry& first, const Entry& second) const;
  bool KnewAtFree(const Tenant& freed, LaneId lane, uint64_t epoch) const;
  bool KnewAtStart(const Entry& entry, const Entry& other) const;
  bool Reversed(const Entry& first, const Entry& second) const;
  Touched BytesOf(const Entry& entry) const;
  bool HasBytes(const Entry& entry, uint64_t begin, uint64_t end) const;
  void Collect(const Entry& first, const Entry& second, const Cell& cell, uint64_t begin);
  Tenant* NewTenant(const Op& op, size_t index, const Access& range);
  Tenant* FindTenant(BufferId id);
  void Sweep();
  void DropUnusedTenants();

  // races.cc
  void JudgeConflicts(const Op& op, size_t index, const Step& step);
  void JudgeTenant(const Op& op, size_t index, const Step& step, std::vector<Conflict>& conflicts,
                   size_t from, size_t to);
  static void LimitToBefore(const Step& step, Clock* source);
  Clock KnownTo(const Step& step, const Tenant& tenant) const;
  void KeepEntry(const Conflict& conflict);
  static void AddEdge(Tenant& tenant, ConditionalEdge edge);
  void AddEdges(Tenant& tenant, ConditionalEdge edge);
  void ReportRace(const Op& op, size_t index, const Step& step, const Conflict& merged,
                  bool absorbed);

  // Whether it rests on a word that was not proven to be followed, or on ranges that may not meet:
  // such a finding is `possible` at most, and stands for no other one.
  bool WeaklyEvidenced(const Entry& first, const Entry& second) const;
  // How sure a finding is, from the weakest of what it rests on (docs/architecture.md, decision 3).
  Confidence ConfidenceOf(const Entry& first, const Entry& second, const Op& a, const Op& b) const;

  // lifetime.cc
  void OnAlloc(const Op& op, size_t index, const Access& range);
  void OnFree(const Op& op, size_t index);
  void OnRecordStream(const Op& op, size_t index);
  void JudgeFree(Tenant& tenant, const Op& op);
  bool ForgetIfCovered(Tenant& tenant, const Op& op);
  void FreeIncidentally(Tenant& tenant, const Op& op);
  static Part PartOf(const Entry& entry, uint64_t begin, uint64_t end);
  std::vector<Use> UncoveredUses(Tenant& tenant, const Clock& gone, const Clock& covered);
  void Decide(Pending& pending, bool at_end, const Clock& now);
  void DecideBefore(const Op& op, const Access& range, const Clock& now);
  // `now`: what had come to be known at the deciding allocation, for incidental synchronisation.
  void ReportUses(Tenant& tenant, std::vector<Use>& uses, Clock known, const Clock& now,
                  bool at_end);
  static constexpr size_t kNoFinding = ~size_t{0};
  // The finding, also an earlier one of the same sites; kNoFinding where the memory is private.
  size_t ReportLifetime(Tenant& tenant, const Use& use, const Op& other, size_t other_index,
                        bool absorbed, bool at_end);
  void AssumeCovered(Tenant& tenant, const Use& use);
  static size_t StandingFor(const Use& use, const std::vector<std::pair<Clock, size_t>>& reported);
  void CheckWatched(const Op& op, size_t index, const Step& step);
  void LateUse(Tenant& tenant, size_t index, const Step& step, const Use& use);
  void Inherit(Tenant& tenant, const std::vector<Tenant*>& older, const Clock& now);
  static void AddOpenUse(Tenant& tenant, const Tenant::OpenUse& open);
  // `over(lane, epoch)`: nobody who gets the bytes next can meet the use any more.
  template <typename F>
  static void ForgetOpenUses(Tenant& tenant, F over) {
    std::erase_if(tenant.open_uses,
                  [&](const Tenant::OpenUse& open) { return over(open.lane, open.epoch); });
  }
  static void AddOpenUses(Tenant& tenant, const Use& use, size_t finding);
  void HandOver(Tenant& from, Tenant& to) const;
  void Strike(Tenant& tenant, const Clock& now);
  void ForgetFinished(Tenant& tenant, const Clock& seen);
  OwnerKey KeyOf(StreamId owner, HostId host, uint32_t pool);
  void MarkStruck(Tenant& tenant, const Tenant::OpenUse& strike);
  void Retell(Site* site, size_t index) const;
  void OnBufferName(const Op& op, const Access& range);
  void NameStruck(Tenant& tenant, const Op& op, size_t index);

  // pool.cc
  void OnAllocAsync(const Op& op, size_t index, const Step& step, const Access& range);
  void OnFreeAsync(const Op& op, size_t index, const Step& step);
  void CheckAllocOrder(Tenant& tenant, const Op& op, size_t index, const Step& step,
                       const Entry& entry);

  // advice.cc
  void AdviseOnWait(const Op& op, size_t index);
  void AdviseOnAwait(const Op& op, size_t index);
  bool AdvisedBefore(const char* code, uint64_t subject, const Op& op);
  void Advise(const char* code, const std::string& subject, std::vector<std::string> aliases,
              std::string text, const Op& op, size_t index);
  void AdviseImplicitSync(const Tenant& tenant, const Op& op, size_t index, const char* what);
  void AdviseRedundantRecords(Tenant& tenant, const Clock& owner, const Clock& known);

  // sites.cc
  Site MakeSite(const Op& op, size_t index) const;
  Site MakeSite(const Entry& entry, const Tenant& tenant) const;
  std::string LaneName(const Op& op) const;
  BufferRef MakeBuffer(const Tenant& tenant, uint64_t begin, uint64_t end) const;
  uint64_t EndOf(const Entry& first, const Entry& second, uint64_t end) const;
  std::string StreamName(StreamId id, HostId host) const;
  const std::string& EventName(EventId id) const;
  std::string BufferName(const Tenant& tenant) const;
  std::string BufferName(StringId name, BufferId id) const;
  uint64_t SiteHash(const Op& op) const;
  uint64_t SubjectHash(const Tenant& tenant) const;
  size_t AddFinding(Finding finding, const Op& first, const Op& second, const Tenant& tenant);

  const Program& program_;
  CheckOptions options_;
  mutable Order order_;
  Shadow shadow_;
  OpLog log_;
  CollectiveOrder collectives_;
  Running running_;
  std::unordered_map<BufferId, Tenant*> live_;
  std::vector<std::unique_ptr<Tenant>> tenants_, spare_tenants_;
  std::map<OwnerKey, std::vector<Pending>> pending_;
  size_t next_sweep_ = 0;

  // Of one allocation or free, kept because allocating clocks took longer than comparing them.
  struct {
    Clock now, owner, gone, covered;
    std::vector<Tenant*> older;
  } scratch_;
  struct {
    size_t index = SIZE_MAX;
    bool holds = false;
  } in_issue_order_;                 // of the operation that was asked about last
  std::vector<UserSet*> users_;      // scratch of one operation
  std::vector<Conflict> conflicts_;  // scratch of one operation
  std::vector<std::pair<Tenant*, ConditionalEdge>> edges_of_storage_;  // scratch of one operation
  struct Watch {
    Tenant* tenant;
    Entry entry;
    uint64_t begin, end;  // of the cell
  };
  std::vector<Watch> watched_;     // scratch: tenants whose first or late use this may be
  std::vector<Tenant*> found_on_;  // scratch: tenants with a finding from this operation

  std::deque<Finding> findings_;
  std::vector<std::string> keys_;
  std::unordered_map<std::string, size_t> by_key_;
  std::vector<Advice> advice_;
  std::unordered_map<uint64_t, size_t> advice_by_key_;  // AdvisedBefore()
  uint64_t muted_private_ = 0;
  uint64_t untracked_ = 0;
  uint64_t beginnings_ = 0;  // accesses that were compared where they begin only
  uint64_t forgotten_ = 0;   // for want of room in a cell
  uint64_t accesses_ = 0;
};

// What the end of a tenancy settles.
template <typename Settled>
void Checker::Settle(Cell& cell, Settled settled) {
  if (order_.before() == nullptr) return cell.DropIf(settled);
  std::vector<Entry> writes;
  auto look = [&](const Entry& entry) {
    if (entry.Replaces() && settled(entry)) writes.push_back(entry);
  };
  if (cell.write) look(cell.write);
  cell.ForEachSince(look);
  cell.ForEachPast([&](Entry& entry) {
    if (entry.Replaces() && settled(entry)) entry.done = 1;
  });
  cell.DropIf([&](const Entry& entry) { return !entry.done && settled(entry); });
  for (Entry& write : writes) {
    write.done = 1;
    AddPast(cell, write);
  }
}

inline bool Conflicts(uint8_t a, uint8_t b) {
  bool plain_write = (a | b) & kWrite;
  bool atomic_meets_plain = ((a & kAtomic) && (b & kRead)) || ((b & kAtomic) && (a & kRead));
  return plain_write || atomic_meets_plain;
}

bool NeedsTrigger(const Step& step, const Entry& first);

}  // namespace ss
