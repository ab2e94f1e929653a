#include "src/kernels/patterns.h"

#include <algorithm>
#include <set>

namespace ss::kernels {

BlockEdges Successors(const Graph& graph) {
  BlockEdges next(graph.blocks.size());
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    for (const Edge& edge : graph.blocks[b].edges) {
      bool flows = edge.kind == EdgeKind::kNext || edge.kind == EdgeKind::kExternal;
      uint32_t to = flows                          ? edge.block
                    : edge.kind == EdgeKind::kCall ? graph.blocks[b].after
                                                   : kNoTarget;
      if (to != kNoTarget) next[b].push_back(to);
    }
  }
  return next;
}

BlockEdges Reverse(const BlockEdges& next) {
  BlockEdges previous(next.size());
  for (uint32_t b = 0; b < next.size(); ++b) {
    for (uint32_t to : next[b]) previous[to].push_back(b);
  }
  return previous;
}

namespace {

constexpr uint32_t kPredicateBase = 1024;  // registers and predicates share one set of names

// Blocks from which `from` can be reached and which it reaches: the loops around it.
std::set<uint32_t> LoopAround(const BlockEdges& next, const BlockEdges& previous, uint32_t from) {
  auto reach = [from](const BlockEdges& edges) {
    std::set<uint32_t> seen;
    std::vector<uint32_t> work = edges[from];
    while (!work.empty()) {
      uint32_t at = work.back();
      work.pop_back();
      if (!seen.insert(at).second) continue;
      work.insert(work.end(), edges[at].begin(), edges[at].end());
    }
    return seen;
  };
  std::set<uint32_t> forward = reach(next), backward = reach(previous), both;
  if (!forward.count(from)) return both;
  std::set_intersection(forward.begin(), forward.end(), backward.begin(), backward.end(),
                        std::inserter(both, both.end()));
  return both;
}

bool IsPredicate(const Operand& one) {
  return one.kind == OperandKind::kPredicate && one.value != kTruePredicate;
}

// Forward slice of one load through the instructions of a loop, until a branch that leaves it.
class Slice {
 public:
  Slice(const Code& code, const Graph& graph, const std::set<uint32_t>& loop)
      : code_(code), graph_(graph), loop_(loop) {}

  bool DecidesExit(uint32_t load) {
    const Instruction& in = code_.instructions[load];
    for (const Operand& one : code_.Operands(in)) {
      if (one.kind == OperandKind::kMemory) break;
      if (one.kind == OperandKind::kRegister && one.reg != kNoRegister) {
        for (uint32_t w = 0; w < WordsOf(in.modifiers); ++w) tainted_.insert(one.reg + w);
      }
    }
    size_t before = 0;
    do {
      before = tainted_.size();
      for (uint32_t b : loop_) Spread(graph_.blocks[b]);
    } while (tainted_.size() != before);
    return std::any_of(loop_.begin(), loop_.end(),
                       [&](uint32_t b) { return Leaves(graph_.blocks[b]); });
  }

 private:
  void Spread(const Block& block) {
    for (uint32_t i = block.first; i <= block.last; ++i) {
      const Instruction& in = code_.instructions[i];
      bool computes = in.op == OpClass::kOther || in.op == OpClass::kNone ||
                      (in.op >= OpClass::kMove && in.op <= OpClass::kDouble);
      if (!computes) continue;
      std::span<const Operand> operands = code_.Operands(in);
      bool tainted = std::any_of(operands.begin() + std::min<size_t>(1, operands.size()),
                                 operands.end(), [&](const Operand& one) { return Has(one); });
      if (!tainted) continue;
      for (size_t k = 0; k < operands.size() && k < 2; ++k) {
        const Operand& one = operands[k];
        if (IsPredicate(one) && !one.negated) tainted_.insert(kPredicateBase + one.value);
        if (k == 0 && one.kind == OperandKind::kRegister && one.reg != kNoRegister) {
          tainted_.insert(one.reg);
        }
      }
    }
  }

  bool Has(const Operand& one) const {
    if (IsPredicate(one)) return tainted_.count(kPredicateBase + one.value);
    return one.kind == OperandKind::kRegister && one.reg != kNoRegister && tainted_.count(one.reg);
  }

  bool Leaves(const Block& block) const {
    const Instruction& last = code_.instructions[block.last];
    bool branches = last.op == OpClass::kBranch || last.op == OpClass::kExit;
    bool decided = last.guarded && tainted_.count(kPredicateBase + last.guard);
    for (const Operand& one : code_.Operands(last)) decided |= IsPredicate(one) && Has(one);
    if (!branches || !decided) return false;
    return last.op == OpClass::kExit ||
           std::any_of(block.edges.begin(), block.edges.end(),
                       [&](const Edge& edge) { return !loop_.count(edge.block); });
  }

  const Code& code_;
  const Graph& graph_;
  const std::set<uint32_t>& loop_;
  std::set<uint32_t> tainted_;
};

bool IsStrongLoad(const Instruction& in) {
  return in.op == OpClass::kLoad && in.modifiers & kModStrong && in.modifiers & (kModGpu | kModSys);
}

}  // namespace

std::vector<uint32_t> PollingLoads(const Code& code, const Graph& graph) {
  std::vector<uint32_t> found;
  BlockEdges next, previous;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    for (uint32_t i = graph.blocks[b].first; i <= graph.blocks[b].last; ++i) {
      if (!IsStrongLoad(code.instructions[i])) continue;
      if (next.empty()) previous = Reverse(next = Successors(graph));
      std::set<uint32_t> loop = LoopAround(next, previous, b);
      if (!loop.empty() && Slice(code, graph, loop).DecidesExit(i)) found.push_back(i);
    }
  }
  return found;
}

}  // namespace ss::kernels
