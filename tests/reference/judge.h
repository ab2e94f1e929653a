// The questions put to the graph, in program order. Internal to the reference.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/reference/reference.h"

namespace ss::reference {

class Judging {
 public:
  Judging(const Program& program, const std::vector<Op>& ops)
      : program_(program), ops_(ops), timeline_(program, ops) {}
  Verdict Run();

 private:
  // An earlier operation that conflicts with the one being judged, on one buffer.
  struct Candidate {
    size_t op = 0;
    bool raw = false, waw = false, war = false;
    bool allocation = false;  // the buffer's own pool allocation
    bool whole = false;       // more than the host's reading of a staged source
    Nodes done;               // nodes that must come before the second operation's start
    std::vector<std::pair<uint64_t, uint64_t>> overlaps;  // bytes in conflict
    std::set<TenantId> tenants;  // whose they were when the first operation touched them
  };
  // A use that was not covered at the free of its buffer.
  struct Use {
    size_t op = 0;
    Nodes done;
  };
  // A use, and the hazard that was reported of it or of one that stands for it.
  struct Told {
    size_t hazard = 0;
    Use use;
  };
  struct Pending {
    TenantId tenant = 0;
    size_t freed = 0;
    std::vector<Use> uses;  // latest first
    std::vector<Told> told;
  };

  // pairs.cc
  void JudgePairs(size_t b);
  std::map<TenantId, std::vector<Candidate>> Candidates(size_t b);
  void AddConflicts(size_t a, size_t b, std::map<TenantId, std::vector<Candidate>>* found);
  void AddPoolAllocations(size_t b, std::map<TenantId, std::vector<Candidate>>* found);
  void JudgeCandidates(size_t b, TenantId tenant, std::vector<Candidate> candidates);
  bool SettledByLifetime(const Candidate& candidate, size_t b, TenantId newest) const;
  bool Over(const Candidate& candidate, size_t b, TenantId newest);
  bool Hidden(const Candidate& candidate, const std::vector<Candidate>& hiding, StorageId storage);
  bool Reversed(size_t a, size_t b);
  std::string PairCode(const Candidate& candidate, size_t b) const;
  bool IsFill(size_t i) const { return (timeline_.op(i).flags & kFill) != 0; }
  bool IsHostSide(size_t i) const;
  bool SameLane(size_t i, size_t j) const {
    const OpNodes &a = timeline_.nodes(i), &b = timeline_.nodes(j);
    return a.lane == b.lane && a.apart == b.apart;
  }
  void JudgeUseAfterFree(size_t b);
  bool KnownAtFree(const Tenant& freed, size_t b);

  // lifetimes.cc
  void JudgeFree(size_t f);
  Use UseOf(size_t op, TenantId tenant) const;
  std::vector<Use> UsesOf(TenantId tenant, size_t before) const;
  Nodes FreeTargets(const Tenant& tenant, std::optional<LaneId> without, bool incidental);
  Nodes RecordedTails(const Tenant& tenant, std::optional<LaneId> without) const;
  Nodes SeenByAnyHost(const Tenant& tenant, bool incidental) const;
  Nodes UseTargets(TenantId id, const Use& use, std::optional<LaneId> without, bool incidental);
  bool Covered(TenantId id, const Use& use, std::optional<LaneId> without, bool incidental);
  void RemarkRedundantRecords(TenantId id, std::vector<Use> uses);
  bool Replaced(const Use& use, TenantId id);
  void SettleAtAllocation(size_t j);
  bool CouldServe(const Tenant& freed, const Tenant& next) const;
  void Settle(Pending* pending, std::optional<size_t> allocation);
  void ReportUses(Pending* pending, std::optional<size_t> allocation);
  bool SeenThroughAssumed(TenantId id, const Use& use);
  bool OverInside(const Tenant& other, const Use& use, size_t before);
  std::vector<Range> OpenBytes(TenantId freed, const Use& use, size_t allocation);
  void MarkStruck(const Pending& pending, size_t allocation);
  std::optional<size_t> StandingFor(const Pending& pending, const Use& use);
  Nodes OwnerAt(const Tenant& tenant, size_t allocation) const;

  // remarks.cc
  void RemarkAllocUnordered(size_t b);
  Nodes OwnWork(LaneId lane, size_t before) const;
  bool RacesWithEarlierTenant(size_t b, TenantId id) const;
  void RemarkWait(size_t i);
  void RemarkCalls();
  bool WorkCovered(const NodeSet& needed, const NodeSet& known, size_t before) const;

  bool SameRank(size_t i, size_t j) const {
    const LaneTable& lanes = timeline_.lanes();
    return lanes.RankOf(timeline_.op(i).host) == lanes.RankOf(timeline_.op(j).host);
  }
  NodeSet Before(const Nodes& targets, StorageId storage, bool incidental);
  Nodes DoneNodes(size_t i, bool staged_only) const;
  Node WaitBefore(size_t a, size_t b) const;
  void AssumeEdge(size_t a, size_t at, Node to, StorageId storage);
  void AddHazard(std::string code, TenantId tenant, size_t first, size_t second, bool absorbed);
  void AddRemark(std::string code, std::string subject, size_t op, std::string alias = "");
  void Note(const std::string& rule) { ++verdict_.exercised[rule]; }
  const Tenant& tenant(TenantId id) const { return timeline_.storage().tenants()[id]; }

  const Program& program_;
  const std::vector<Op>& ops_;
  Timeline timeline_;
  Verdict verdict_;
  std::vector<Pending> pending_;
  std::set<TenantId> used_;                                  // had their first use
  std::map<TenantId, std::map<LaneId, size_t>> late_lanes_;  // a use after the free: its hazard
  std::map<TenantId, std::set<size_t>> lifetime_uses_;       // uses that a lifetime verdict took
  std::map<TenantId, Nodes>
      over_;  // nodes that are over for whoever gets the storage (rules 18, 19)
};

}  // namespace ss::reference
