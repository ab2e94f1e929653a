#include "policy.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>

namespace ss::vgpu {

namespace {

// splitmix64: tiny, and the same on every standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) { return Next() % n; }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

class Eager : public Policy {
 public:
  bool RunMore(const std::vector<Op*>&) override { return true; }
  Op* Pick(const std::vector<Op*>& ready) override {
    return *std::min_element(ready.begin(), ready.end(),
                             [](const Op* a, const Op* b) { return a->id < b->id; });
  }
};

class Lazy : public Policy {
 public:
  bool RunMore(const std::vector<Op*>&) override { return false; }

  Op* Pick(const std::vector<Op*>& ready) override {
    return *std::min_element(ready.begin(), ready.end(), [](const Op* a, const Op* b) {
      return a->needed != b->needed ? a->needed : a->rank < b->rank;
    });
  }

  // Lays the schedule out from its end: of the operations that nothing unplaced waits for, the
  // earliest-issued comes last. (Latest-issued-first from the front was tried: it runs a blocker
  // early when the only other choice is a marker that leads to what it should block.)
  void Plan(const std::vector<Op*>& needed) override {
    std::unordered_map<const Op*, size_t> waiting;  // operations of the plan that come behind
    for (const Op* op : needed) waiting[op];
    const auto each_before = [&](const Op& op, auto visit) {
      for (const OpPtr& before : op.after) {
        if (waiting.contains(before.get())) visit(before.get());
      }
      Op* before = Predecessor(op);
      if (before && waiting.contains(before)) visit(before);
    };
    for (const Op* op : needed) each_before(*op, [&](Op* before) { ++waiting[before]; });
    const auto later = [](const Op* a, const Op* b) { return a->id > b->id; };
    std::priority_queue<Op*, std::vector<Op*>, decltype(later)> last(later);
    for (Op* op : needed) {
      if (waiting[op] == 0) last.push(op);
    }
    planned_ += needed.size();
    for (uint64_t rank = planned_; !last.empty(); --rank) {
      Op* op = last.top();
      last.pop();
      op->rank = rank;
      each_before(*op, [&](Op* before) {
        if (--waiting[before] == 0) last.push(before);
      });
    }
  }

 private:
  uint64_t planned_ = 0;
};

class RandomWalk : public Policy {
 public:
  explicit RandomWalk(uint64_t seed) : random_(seed) {
    constexpr double kAhead[] = {0.0, 0.2, 0.5, 0.8, 0.95};
    ahead_ = kAhead[random_.Below(std::size(kAhead))];
  }
  bool RunMore(const std::vector<Op*>&) override { return random_.Unit() < ahead_; }
  Op* Pick(const std::vector<Op*>& ready) override { return ready[random_.Below(ready.size())]; }

 private:
  Random random_;
  double ahead_;
};

class Pct : public Policy {
 public:
  Pct(uint64_t seed, uint64_t depth) : random_(seed), host_(random_.Unit()) {
    // Programs differ in length by orders of magnitude, and so do the moments: log-uniform up to
    // 4096 steps.
    for (uint64_t i = 0; i < depth; ++i) {
      changes_.push_back(static_cast<uint64_t>(std::exp2(12.0 * random_.Unit())));
    }
  }
  bool RunMore(const std::vector<Op*>& ready) override {
    Op* best = Best(ready);
    if (ChangePoint()) Lower(Rank(best) > host_ ? &ranks_[best->stream->id] : &host_);
    return Rank(Best(ready)) > host_;
  }
  Op* Pick(const std::vector<Op*>& ready) override {
    if (ChangePoint()) Lower(&ranks_[Best(ready)->stream->id]);
    return Best(ready);
  }
  void HostYields() override { Lower(&host_); }

 private:
  double Rank(const Op* op) {
    auto [it, fresh] = ranks_.try_emplace(op->stream->id, 0);
    if (fresh) it->second = random_.Unit();
    return it->second;
  }
  Op* Best(const std::vector<Op*>& ready) {
    Op* best = ready.front();
    for (Op* op : ready) {
      if (Rank(op) > Rank(best)) best = op;
    }
    return best;
  }
  bool ChangePoint() {
    ++moment_;
    return std::find(changes_.begin(), changes_.end(), moment_) != changes_.end();
  }
  void Lower(double* rank) { *rank = lowest_ -= 1.0; }

  Random random_;
  double host_;
  double lowest_ = 0;
  uint64_t moment_ = 0;
  std::vector<uint64_t> changes_;
  std::unordered_map<uint64_t, double> ranks_;  // by stream id
};

}  // namespace

std::unique_ptr<Policy> MakePolicy(const std::string& name, uint64_t seed, uint64_t pct_depth) {
  if (name == "lazy") return std::make_unique<Lazy>();
  if (name == "random") return std::make_unique<RandomWalk>(seed);
  if (name == "pct") return std::make_unique<Pct>(seed, pct_depth);
  return std::make_unique<Eager>();
}

}  // namespace ss::vgpu
