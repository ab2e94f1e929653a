#include "tests/ablation/oracle.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "tests/reference/split.h"

namespace ss {
namespace {

using reference::Node;
using reference::Nodes;
using reference::Piece;
using reference::Timeline;

bool Conflict(uint8_t a, uint8_t b) {
  const bool atomics = a == kAtomic && b == kAtomic;
  return !atomics && ((a | b) & (kWrite | kAtomic)) != 0;
}

// Which of `roots` reaches each node, by every edge but assumed ones.
class Closure {
 public:
  Closure(const reference::Graph& graph, const Nodes& roots)
      : words_((roots.size() + 63) / 64), rows_(graph.size() * words_) {
    for (Node root : roots) bits_.try_emplace(root, bits_.size());
    for (auto [root, bit] : bits_) Row(root)[bit / 64] |= uint64_t{1} << bit % 64;
    while (Pass(graph)) {
    }
  }

  bool Reaches(Node root, const Nodes& targets) const {
    const size_t bit = bits_.at(root);
    for (Node target : targets) {
      if (rows_[target * words_ + bit / 64] >> bit % 64 & 1) return true;
    }
    return false;
  }

 private:
  uint64_t* Row(Node node) { return rows_.data() + node * words_; }

  // One pass is enough for edges to later nodes. True: an edge goes back, and something changed.
  bool Pass(const reference::Graph& graph) {
    bool again = false;
    for (Node to = 0; to < graph.size(); ++to) {
      for (const auto& edge : graph.Into(to)) {
        if (edge.kind == reference::EdgeKind::kAssumed) continue;
        again |= Merge(Row(edge.from), Row(to)) && edge.from > to;
      }
    }
    return again;
  }

  bool Merge(const uint64_t* from, uint64_t* to) const {
    uint64_t fresh = 0;
    for (size_t i = 0; i < words_; ++i) {
      fresh |= from[i] & ~to[i];
      to[i] |= from[i];
    }
    return fresh != 0;
  }

  size_t words_;
  std::vector<uint64_t> rows_;
  std::unordered_map<Node, size_t> bits_;
};

bool HostFree(const Op& op) { return op.kind == OpKind::kFree; }

// Where a free of a tenancy must find its uses: a host's in its own knowledge, one in stream order
// before its start; both, unless a thread's own CPU access is the use, in what any thread saw.
struct FreeTargets {
  Nodes own, any;
};

FreeTargets TargetsOf(const Timeline& timeline, size_t free, bool host) {
  FreeTargets targets{.own = {timeline.nodes(free).start}, .any = {}};
  if (host) targets.own = {timeline.nodes(free).call, timeline.nodes(free).ret};
  targets.any = targets.own;
  for (const reference::Acquisition& seen : timeline.acquisitions()) {
    if (seen.op < free) targets.any.push_back(seen.node);
  }
  return targets;
}

bool ByThread(const Op& use) { return use.kind == OpKind::kHostAccess && use.aux != 1; }

}  // namespace

Oracle::Oracle(const Program& program) : program_(program) {
  std::vector<size_t> origin;
  ops_ = reference::SplitSources(program.ops, &origin);
  positions_.resize(program.ops.size());
  for (size_t i = 0; i < origin.size(); ++i) positions_[origin[i]] = i;
  Ask(Timeline(program_, ops_));
  ordered_ = Answers();
}

void Oracle::Ask(const Timeline& timeline) {
  for (size_t b = 0; b < ops_.size(); ++b) {
    if (!timeline.nodes(b).pieces.empty()) AskPairs(timeline, b);
  }
  AskTenancies(timeline);
}

void Oracle::AskPairs(const Timeline& timeline, size_t second) {
  for (size_t first = 0; first < second; ++first) {
    bool any = false, staged = true;
    for (const Piece& x : timeline.nodes(first).pieces) {
      for (const Piece& y : timeline.nodes(second).pieces) {
        if (x.end <= y.begin || y.end <= x.begin || !Conflict(x.mode, y.mode)) continue;
        const auto& tenant = timeline.storage().tenants()[y.tenant];
        const bool pool = tenant.memory == MemoryKind::kPool;
        if (x.tenant != y.tenant && (pool || tenant.owner != reference::kNoLane)) continue;
        any = true;
        staged &= x.staged_source;
      }
    }
    if (!any) continue;
    questions_.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(second),
                          staged ? What::kStagedPair : What::kPair});
  }
}

void Oracle::AskTenancies(const Timeline& timeline) {
  std::set<std::pair<size_t, size_t>> asked;
  std::set<size_t> unjudged;
  std::set<uint32_t> recorded;  // blocks that wait for the streams that they are told of
  for (const Op& op : ops_) {
    if (op.kind == OpKind::kRecordStream) recorded.insert(op.object);
  }
  for (size_t use = 0; use < ops_.size(); ++use) {
    for (const Piece& piece : timeline.nodes(use).pieces) {
      const auto& tenant = timeline.storage().tenants()[piece.tenant];
      const auto at = static_cast<uint32_t>(use);
      if (ops_[tenant.allocated].kind == OpKind::kAllocAsync &&
          asked.insert({tenant.allocated, use}).second) {
        questions_.push_back({static_cast<uint32_t>(tenant.allocated), at, What::kPair});
      }
      if (tenant.freed == reference::kNever || tenant.exit_free || tenant.freed < use) continue;
      const bool told = recorded.contains(ops_[tenant.freed].object);
      if (told || tenant.owner != reference::kNoLane) {
        unjudged.insert(tenant.freed);
      } else if (asked.insert({use, tenant.freed}).second) {
        questions_.push_back({at, static_cast<uint32_t>(tenant.freed), What::kFree});
      }
    }
  }
  unjudged_frees_ = unjudged.size();
}

std::vector<bool> Oracle::Answers() const {
  Timeline timeline(program_, ops_);
  auto root = [&](const Question& question) {
    const auto& nodes = timeline.nodes(question.first);
    return question.what == What::kStagedPair ? nodes.source_done : nodes.done;
  };
  Nodes roots;
  for (const Question& question : questions_) roots.push_back(root(question));
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  const Closure closure(timeline.graph(), roots);
  std::unordered_map<size_t, FreeTargets> frees;
  auto targets = [&](const Question& question) {
    const size_t second = question.second;
    if (question.what != What::kFree) return Nodes{timeline.nodes(second).start};
    if (!frees.contains(second)) {
      frees[second] = TargetsOf(timeline, second, HostFree(ops_[second]));
    }
    return ByThread(ops_[question.first]) ? frees[second].own : frees[second].any;
  };
  std::vector<bool> answers;
  for (const Question& question : questions_) {
    answers.push_back(closure.Reaches(root(question), targets(question)));
  }
  return answers;
}

bool Oracle::LoadBearing(const std::vector<size_t>& removed) {
  std::vector<Op> kept;
  for (size_t at : removed) {
    Op& op = ops_[positions_[at]];
    kept.push_back(op);
    op.kind = OpKind::kEventDestroy;  // a call that orders nothing
    op.object = 0;
  }
  const std::vector<bool> without = Answers();
  for (size_t i = 0; i < removed.size(); ++i) ops_[positions_[removed[i]]] = kept[i];
  for (size_t i = 0; i < without.size(); ++i) {
    if (ordered_[i] && !without[i]) return true;
  }
  return false;
}

}  // namespace ss
