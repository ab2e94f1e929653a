#include "src/pipeline/steps.h"

#include <fmt/format.h>

#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

using Kind = Step::Kind;

class RoleLowering {
 public:
  RoleLowering(const Protocol& protocol, uint32_t role, const std::vector<uint32_t>& first_barrier,
               const std::vector<uint32_t>& first_buffer, uint32_t first_mbar, uint32_t first_bar)
      : protocol_(protocol),
        role_(role),
        first_barrier_(first_barrier),
        first_buffer_(first_buffer),
        first_mbar_(first_mbar),
        first_bar_(first_bar),
        produced_(protocol.pipes.size()),
        consumed_(protocol.pipes.size()),
        awaited_(protocol.mbars.size()) {}

  std::vector<Step> Run() {
    const std::vector<Op>& ops = protocol_.roles[role_].ops;
    for (op_ = 0; op_ < ops.size(); ++op_) Lower(ops[op_]);
    return std::move(steps_);
  }

 private:
  void Add(Kind kind, uint32_t barrier, uint32_t count = 0, uint32_t need = 0) {
    steps_.push_back({kind, false, barrier, count, need, op_});
  }

  uint32_t Index(uint32_t pipe, uint32_t count) const {
    return RuleOn(Rule::kIndexWraps) ? count % protocol_.pipes[pipe].stages : 0;
  }
  uint32_t Full(uint32_t pipe, uint32_t count) const {
    return first_barrier_[pipe] + Index(pipe, count);
  }
  uint32_t Empty(uint32_t pipe, uint32_t count) const {
    return first_barrier_[pipe] + protocol_.pipes[pipe].stages + Index(pipe, count);
  }

  void AwaitEmpty(uint32_t pipe) {
    uint32_t lap = produced_[pipe] / protocol_.pipes[pipe].stages;
    Add(Kind::kWait, Empty(pipe, produced_[pipe]), 0, lap + !RuleOn(Rule::kFreshBarrier));
  }

  void Tail(const Op& op) {
    uint32_t stages = protocol_.pipes[op.target].stages;
    if (!RuleOn(Rule::kTailAllStages)) stages = 1;
    for (uint32_t i = 0; i < stages; ++i, ++produced_[op.target]) AwaitEmpty(op.target);
  }

  void TailLast(const Op& op) {
    if (RuleOn(Rule::kTailLastStage)) produced_[op.target] += protocol_.pipes[op.target].stages - 1;
    AwaitEmpty(op.target);
  }

  // A role on both sides, or on none, cannot say which it means: both move.
  void Advance(const Op& op) {
    if (!RuleOn(Rule::kAdvanceMoves)) return Add(Kind::kNothing, 0);
    const Pipe& pipe = protocol_.pipes[op.target];
    const bool produces = pipe.producers.Has(role_), consumes = pipe.consumers.Has(role_);
    if (produces || !consumes) ++produced_[op.target];
    if (consumes || !produces) ++consumed_[op.target];
    Add(Kind::kNothing, 0);
  }

  // On one side: that side's current stage. On both or none: writing is producing.
  void Access(const Op& op) {
    const Pipe& pipe = protocol_.pipes[op.target];
    const bool produces = pipe.producers.Has(role_), consumes = pipe.consumers.Has(role_);
    const bool write = op.kind == OpKind::kWrite;
    const bool as_producer = produces == consumes ? write : produces;
    uint32_t count = as_producer ? produced_[op.target] : consumed_[op.target];
    Add(Kind::kAccess, first_buffer_[op.target] + Index(op.target, count));
    steps_.back().write = write;
  }

  void Await(const Op& op) {
    uint32_t& need = awaited_[op.target];
    if (!RuleOn(Rule::kAwaitLeastPhase)) need = 0;
    if ((need & 1) == op.count) ++need;  // passes iff the phase's parity differs
    Add(Kind::kWait, first_mbar_ + op.target, 0, need);
  }

  void Lower(const Op& op) {
    const uint32_t target = op.target;
    switch (op.kind) {
      case OpKind::kAcquire:
        return AwaitEmpty(target);
      case OpKind::kCommit:
        return Add(Kind::kArrive, Full(target, produced_[target]++), 1);
      case OpKind::kWait: {
        uint32_t lap = consumed_[target] / protocol_.pipes[target].stages;
        return Add(Kind::kWait, Full(target, consumed_[target]), 0, lap + 1);
      }
      case OpKind::kRelease:
        return Add(Kind::kArrive, Empty(target, consumed_[target]++), 1);
      case OpKind::kTail:
        return Tail(op);
      case OpKind::kTailLast:
        return TailLast(op);
      case OpKind::kAdvance:
        return Advance(op);
      case OpKind::kRead:
      case OpKind::kWrite:
        return Access(op);
      case OpKind::kDelay:
        return Add(Kind::kNothing, 0);
      default:
        LowerBarrier(op);
    }
  }

  void LowerBarrier(const Op& op) {
    const bool named = op.kind == OpKind::kSync || op.kind == OpKind::kBarArrive;
    const uint32_t barrier = (named ? first_bar_ : first_mbar_) + op.target;
    switch (op.kind) {
      case OpKind::kArriveDrop:
        return Add(Kind::kDrop, barrier, op.count);
      case OpKind::kExpectTx:
        return Add(Kind::kExpect, barrier, op.count);
      case OpKind::kCompleteTx:
        return Add(Kind::kComplete, barrier, op.count);
      case OpKind::kAwait:
        return Await(op);
      default:
        Add(Kind::kArrive, barrier, op.count);
    }
    const bool waits = op.kind == OpKind::kSync ? RuleOn(Rule::kSyncWaits)
                                                : named && !RuleOn(Rule::kArriveWaitsNot);
    if (waits) Add(Kind::kMeet, barrier);
  }

  const Protocol& protocol_;
  uint32_t role_;
  const std::vector<uint32_t>&first_barrier_, &first_buffer_;
  uint32_t first_mbar_, first_bar_;
  std::vector<uint32_t> produced_, consumed_;  // PipelineState counts, a pipe
  std::vector<uint32_t> awaited_;              // the phase last needed, an mbarrier
  std::vector<Step> steps_;
  uint32_t op_ = 0;
};

}  // namespace

const std::string& Program::OwnerName(const Barrier& barrier) const {
  switch (barrier.kind) {
    case Barrier::Kind::kMbar:
      return protocol->mbars[barrier.owner].name;
    case Barrier::Kind::kNamed:
      return protocol->bars[barrier.owner].name;
    default:
      return protocol->pipes[barrier.owner].name;
  }
}

std::string Program::BarrierName(const Barrier& barrier) const {
  if (barrier.kind == Barrier::Kind::kMbar) return "mbarrier " + OwnerName(barrier);
  if (barrier.kind == Barrier::Kind::kNamed) return "named barrier " + OwnerName(barrier);
  const char* side = barrier.kind == Barrier::Kind::kFull ? "full" : "empty";
  return fmt::format("{}[{}] of {}", side, barrier.stage, OwnerName(barrier));
}

Program Lower(const Protocol& protocol) {
  Program program;
  program.protocol = &protocol;
  std::vector<uint32_t> first_barrier, first_buffer;
  auto add = [&](Barrier::Kind kind, uint32_t owner, uint32_t stage, uint32_t expected) {
    program.barriers.push_back({kind, owner, stage, expected});
  };
  for (uint32_t i = 0; i < protocol.pipes.size(); ++i) {
    const Pipe& pipe = protocol.pipes[i];
    first_barrier.push_back(static_cast<uint32_t>(program.barriers.size()));
    first_buffer.push_back(static_cast<uint32_t>(program.buffers.size()));
    for (uint32_t s = 0; s < pipe.stages; ++s)
      add(Barrier::Kind::kFull, i, s, pipe.producers.arrivals);
    for (uint32_t s = 0; s < pipe.stages; ++s)
      add(Barrier::Kind::kEmpty, i, s, pipe.consumers.arrivals);
    for (uint32_t s = 0; s < pipe.stages; ++s) program.buffers.push_back({i, s});
  }
  const auto first_mbar = static_cast<uint32_t>(program.barriers.size());
  for (uint32_t i = 0; i < protocol.mbars.size(); ++i)
    add(Barrier::Kind::kMbar, i, 0, protocol.mbars[i].arrivals);
  const auto first_bar = static_cast<uint32_t>(program.barriers.size());
  for (uint32_t i = 0; i < protocol.bars.size(); ++i)
    add(Barrier::Kind::kNamed, i, 0, protocol.bars[i].agents);
  for (uint32_t role = 0; role < protocol.roles.size(); ++role) {
    for (uint32_t warp = 0; warp < protocol.roles[role].warps; ++warp)
      program.agents.push_back({role, warp});
    program.steps.push_back(
        RoleLowering(protocol, role, first_barrier, first_buffer, first_mbar, first_bar).Run());
  }
  return program;
}

}  // namespace ss::pipeline
