#include "tests/random/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace ss::random {
namespace {

constexpr int kRules[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                          12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23};

double Share(uint64_t part, uint64_t whole) { return whole ? 100.0 * part / whole : 0; }

}  // namespace

void Statistics::Add(size_t statements, const reference::Verdict& verdict) {
  ++programs_;
  unsettled_ += !verdict.settled;
  statements_ += statements;
  shortest_ = std::min<uint64_t>(shortest_, statements);
  longest_ = std::max<uint64_t>(longest_, statements);
  racy_ += std::any_of(verdict.hazards.begin(), verdict.hazards.end(),
                       [](const reference::Hazard& hazard) { return !hazard.absorbed; });
  std::set<int> rules;
  for (const auto& [note, count] : verdict.exercised) {
    ++notes_[note];
    rules.insert(std::atoi(note.c_str()));
  }
  for (int rule : rules) ++rules_[rule];
}

bool Statistics::PrintRules() const {
  bool good = true;
  for (int rule : kRules) {
    auto it = rules_.find(rule);
    const double share = Share(it == rules_.end() ? 0 : it->second, programs_);
    fmt::print("rule {:2}: in {:5.1f}% of the programs\n", rule, share);
    for (const auto& [note, count] : notes_) {
      if (std::atoi(note.c_str()) == rule) {
        fmt::print("           {:5.1f}%  {}\n", Share(count, programs_), note);
      }
    }
    good &= share >= 1;
  }
  return good;
}

bool Statistics::Print() const {
  const bool rules = PrintRules();
  const double racy = Share(racy_, programs_);
  fmt::print("{} programs of {} to {} statements, {:.0f} on average: {:.1f}% racy, {:.1f}% clean\n",
             programs_, shortest_, longest_, static_cast<double>(statements_) / programs_, racy,
             100 - racy);
  fmt::print("{} hang, and the engine tells: their hazards were not compared\n", unsettled_);
  const bool compared = unsettled_ * 50 <= programs_;
  return rules && compared && racy >= 25 && racy <= 75 && shortest_ >= 20 && longest_ <= 200;
}

}  // namespace ss::random
