#include "tests/reference/judge.h"

#include "tests/reference/split.h"

namespace ss::reference {

Verdict Judging::Run() {
  for (size_t i = 0; i < ops_.size(); ++i) {
    const OpKind kind = timeline_.op(i).kind;
    if (kind == OpKind::kAlloc || kind == OpKind::kAllocAsync) SettleAtAllocation(i);
    if (kind == OpKind::kStreamWaitEvent) RemarkWait(i);
    if (!timeline_.nodes(i).pieces.empty()) {
      JudgeUseAfterFree(i);
      JudgePairs(i);
      RemarkAllocUnordered(i);
    }
    if (kind == OpKind::kFree || kind == OpKind::kFreeAsync) JudgeFree(i);
  }
  for (Pending& pending : pending_) Settle(&pending, std::nullopt);
  RemarkCalls();
  verdict_.settled = timeline_.settled();
  for (const auto& [rule, count] : timeline_.exercised()) verdict_.exercised[rule] += count;
  return std::move(verdict_);
}

NodeSet Judging::Before(const Nodes& targets, StorageId storage, bool incidental) {
  const auto* assumed = storage == 0 ? nullptr : &tenant(storage - 1).lineage;
  return timeline_.graph().Ancestors(targets, {assumed, incidental});
}

// When is what operation i did to memory over? The host's part of a staged copy ends before the
// copy.
Nodes Judging::DoneNodes(size_t i, bool staged_only) const {
  return {staged_only ? timeline_.nodes(i).source_done : timeline_.nodes(i).done};
}

// After a finding: everything queued so far on a's lane comes before `to`, for this storage.
void Judging::AssumeEdge(size_t a, size_t at, Node to, StorageId storage) {
  const LaneId lane = timeline_.nodes(a).lane;
  // A copy's own stream has joined what it waits for by itself when the source is read.
  const bool own = timeline_.nodes(at).apart && timeline_.nodes(at).lane == lane;
  const LaneTable& lanes = timeline_.lanes();
  for (Node node : own ? lanes.Frontier(lane, at) : lanes.Tail(lane, at)) {
    timeline_.graph().Connect(node, to, EdgeKind::kAssumed, storage);
  }
}

void Judging::AddHazard(std::string code, TenantId id, size_t first, size_t second, bool absorbed) {
  Hazard hazard;
  hazard.code = std::move(code);
  hazard.buffer = tenant(id).name;
  hazard.first = first;
  hazard.second = second;
  hazard.absorbed = absorbed;
  verdict_.hazards.push_back(std::move(hazard));
}

void Judging::AddRemark(std::string code, std::string subject, size_t op, std::string alias) {
  verdict_.remarks.push_back({std::move(code), std::move(subject), std::move(alias), op});
}

bool Models(int rule) {
  static const std::set<int> kRules = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                       12, 13, 16, 17, 18, 19, 20, 22, 23, 24};
  return kRules.count(rule) != 0;
}

Verdict Judge(const Program& program) {
  std::vector<size_t> origin;
  const std::vector<Op> ops = SplitSources(program.ops, &origin);
  Verdict verdict = Judging(program, ops).Run();
  for (Hazard& hazard : verdict.hazards) {
    hazard.first = origin[hazard.first];
    hazard.second = origin[hazard.second];
  }
  for (Remark& remark : verdict.remarks) remark.op = origin[remark.op];
  return verdict;
}

}  // namespace ss::reference
