#include "tests/pipeline/generator.h"

#include <fmt/format.h>

#include <vector>

#include "tests/random/rng.h"

namespace ss::pipeline {
namespace {

using random::Rng;
using Ops = std::vector<std::string>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  std::string Make() {
    const int pipes = rng_.Between(1, 2);
    const int roles = rng_.Between(2, 3);
    large_ = rng_.Percent(25);
    ops_.resize(roles);
    warps_.assign(roles, 1);
    if (rng_.Percent(25)) warps_[rng_.Below(roles)] = large_ ? rng_.Between(2, 3) : 2;
    for (int i = 0; i < pipes; ++i) AddPipe(i);
    if (rng_.Percent(30)) AddNamedBarrier();
    if (rng_.Percent(25)) AddMbar();
    const int mutations = rng_.Percent(35) ? 0 : rng_.Between(1, 3);
    for (int i = 0; i < mutations; ++i) Mutate();
    return Text();
  }

 private:
  const char* RoleName(size_t role) const {
    constexpr const char* kNames[] = {"A", "B", "C"};
    return kNames[role];
  }

  // One item after the other, the roles' turns woven in: each side works on its own.
  void AddPipe(int index) {
    const std::string name = fmt::format("p{}", index);
    const int stages = rng_.Between(1, large_ ? 3 : 2), items = rng_.Between(1, large_ ? 4 : 3);
    const size_t producer = rng_.Below(ops_.size());
    const size_t consumer = (producer + 1 + rng_.Below(ops_.size() - 1)) % ops_.size();
    names_.push_back(name);
    std::string producers = RoleName(producer), consumers = RoleName(consumer);
    const bool third = ops_.size() == 3 && rng_.Percent(25);
    const size_t other = 3 - producer - consumer;
    const bool other_consumes = third && rng_.Percent(50);
    if (third) (other_consumes ? consumers : producers) += fmt::format(" {}", RoleName(other));
    if (rng_.Percent(10)) consumers += fmt::format(" arrivals {}", rng_.Between(1, 2));
    declarations_ += fmt::format("pipeline {} stages {} producers {} consumers {}\n", name, stages,
                                 producers, consumers);
    for (int i = 0; i < items; ++i) {
      Produce(producer, name);
      if (third && !other_consumes) Produce(other, name);
      Consume(consumer, name);
      if (third && other_consumes) Consume(other, name);
    }
    if (rng_.Percent(40)) Add(producer, (rng_.Percent(80) ? "tail " : "tail_last ") + name);
  }

  void Produce(size_t role, const std::string& name) {
    Add(role, "acquire " + name);
    Add(role, "write " + name);
    Add(role, "commit " + name);
  }
  void Consume(size_t role, const std::string& name) {
    Add(role, "wait " + name);
    Add(role, "read " + name);
    Add(role, "release " + name);
  }

  void AddNamedBarrier() {
    int agents = 0;
    for (int warps : warps_) agents += warps;
    const int uses = rng_.Between(1, 2);
    const size_t arrives = rng_.Percent(30) ? rng_.Below(ops_.size()) : ops_.size();
    named_ = agents;
    for (int i = 0; i < uses; ++i) {
      for (size_t role = 0; role < ops_.size(); ++role)
        Insert(role, fmt::format("{} bar {}", role == arrives ? "arrive" : "sync", agents));
    }
  }

  // A hands over to B once or twice, with or without bytes.
  void AddMbar() {
    declarations_ += "mbar full arrivals 1\nmbar free arrivals 1\n";
    mbar_ = true;
    const int turns = rng_.Between(1, 2);
    const bool bytes = rng_.Percent(40);
    for (int i = 0; i < turns; ++i) {
      Add(0, fmt::format("await free {}", (i + 1) % 2));
      if (bytes) Add(0, "expect_tx full 2");
      Add(0, "arrive full");
      if (bytes) Add(rng_.Below(2), "complete_tx full 2");
      Add(1, fmt::format("await full {}", i % 2));
      Add(1, "arrive free");
    }
  }

  void Add(size_t role, std::string op) { ops_[role].push_back(std::move(op)); }
  void Insert(size_t role, std::string op) {
    ops_[role].insert(ops_[role].begin() + static_cast<long>(rng_.Below(ops_[role].size() + 1)),
                      std::move(op));
  }

  void Mutate() {
    const size_t role = rng_.Below(ops_.size());
    Ops& ops = ops_[role];
    if (ops.empty()) return Insert(role, Invented());
    const size_t at = rng_.Below(ops.size());
    switch (rng_.Weighted({4, 2, 3, 3})) {
      case 0:
        ops.erase(ops.begin() + static_cast<long>(at));
        break;
      case 1:
        ops.insert(ops.begin() + static_cast<long>(at), std::string(ops[at]));
        break;
      case 2:
        if (at + 1 < ops.size()) std::swap(ops[at], ops[at + 1]);
        break;
      default:
        Insert(role, Invented());
    }
  }

  std::string Invented() {
    static const std::vector<std::string> kWords = {
        "acquire", "commit", "wait", "release", "tail", "advance", "read", "write", "tail_last"};
    static const std::vector<std::string> kRaw = {
        "arrive full",  "arrive free",      "await full 0",     "await free 1",
        "await full 1", "arrive_drop free", "expect_tx full 1", "complete_tx full"};
    if (mbar_ && rng_.Percent(40)) return rng_.Pick(kRaw);
    if (named_ && rng_.Percent(20))
      return fmt::format("{} bar {}", rng_.Percent(50) ? "sync" : "arrive", named_);
    return rng_.Pick(kWords) + " " + rng_.Pick(names_);
  }

  std::string Text() const {
    std::string text = declarations_;
    for (size_t role = 0; role < ops_.size(); ++role) {
      text += fmt::format("role {} warps {} {{ {} }}\n", RoleName(role), warps_[role],
                          fmt::join(ops_[role], "; "));
    }
    return text;
  }

  Rng rng_;
  std::vector<Ops> ops_;
  std::vector<int> warps_;
  std::vector<std::string> names_;
  std::string declarations_;
  int named_ = 0;
  bool mbar_ = false;
  bool large_ = false;
};

}  // namespace

std::string RandomProtocol(uint64_t seed) { return Generator(seed).Make(); }

}  // namespace ss::pipeline
