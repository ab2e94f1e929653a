#include "tests/pipeline/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ss::pipeline {
namespace {

using Facts = std::set<std::string>;

Facts FactsOf(const oracle::Truth& truth) {
  Facts facts;
  for (const auto& roles : truth.stuck)
    facts.insert(fmt::format("stuck {}", fmt::join(roles, " ")));
  for (const auto& [subject, role] : truth.early)
    facts.insert(fmt::format("pipeline-early {} {}", subject, role));
  for (const auto& [subject, role] : truth.overtaken)
    facts.insert(fmt::format("pipeline-overtake {} {}", subject, role));
  for (const auto& [pipe, a, b] : truth.races)
    facts.insert(fmt::format("pipeline-race {} {} {}", pipe, a, b));
  return facts;
}

Facts FactsOf(const Verdict& verdict) {
  Facts facts;
  for (const auto& roles : verdict.stuck)
    facts.insert(fmt::format("stuck {}", fmt::join(roles, " ")));
  for (const Finding& finding : verdict.findings) {
    if (finding.code == "pipeline-owner" || finding.code == "pipeline-deadlock") continue;
    std::string roles = finding.role;
    if (!finding.other.empty())
      roles = std::min(finding.role, finding.other) + " " + std::max(finding.role, finding.other);
    facts.insert(fmt::format("{} {} {}", finding.code, finding.subject, roles));
  }
  return facts;
}

class Replay {
 public:
  Replay(const oracle::Oracle& oracle, const Finding& finding)
      : oracle_(oracle), finding_(finding), world_(oracle.Start()) {}

  bool Holds() {
    for (EventRef event : finding_.schedule) {
      if (!oracle_.CanStep(world_, event.agent)) return false;
      world_ = oracle_.Step(world_, event.agent);
    }
    if (finding_.code == "pipeline-deadlock") return Stuck();
    return finding_.code == "pipeline-race" ? Races() : Risky();
  }

 private:
  bool Stuck() const {
    bool there = false;
    for (uint32_t agent = 0; agent < oracle_.agents(); ++agent) {
      if (oracle_.CanStep(world_, agent)) return false;
      there |= !oracle_.AtEnd(world_, agent) && oracle_.RoleName(agent) == finding_.role;
    }
    return there;
  }

  bool Races() const {
    for (uint32_t a = 0; a < oracle_.agents(); ++a) {
      for (uint32_t b = 0; b < oracle_.agents(); ++b) {
        auto one = oracle_.TouchAhead(world_, a), other = oracle_.TouchAhead(world_, b);
        if (one && other && oracle_.Conflict(a, *one, b, *other) &&
            oracle_.RoleName(a) == finding_.role && oracle_.RoleName(b) == finding_.other)
          return true;
      }
    }
    return false;
  }

  bool Risky() const {
    for (uint32_t agent = 0; agent < oracle_.agents(); ++agent) {
      auto wait = oracle_.WaitAhead(world_, agent);
      if (!wait || oracle_.RoleName(agent) != finding_.role || wait->subject != finding_.subject)
        continue;
      const int64_t phases = world_.words[wait->word].phases;
      const bool early = phases + 2 <= wait->lap && oracle_.CanStep(world_, agent);
      if (finding_.code == "pipeline-early" ? early : phases > wait->lap) return true;
    }
    return false;
  }

  const oracle::Oracle& oracle_;
  const Finding& finding_;
  oracle::World world_;
};

}  // namespace

std::vector<std::string> Differences(const oracle::Truth& truth, const Verdict& verdict) {
  const Facts real = FactsOf(truth), said = FactsOf(verdict);
  std::vector<std::string> differences;
  for (const std::string& fact : real) {
    if (!said.count(fact)) differences.push_back("missed: " + fact);
  }
  for (const std::string& fact : said) {
    if (!real.count(fact)) differences.push_back("invented: " + fact);
  }
  return differences;
}

std::vector<std::string> BrokenWitnesses(const oracle::Oracle& oracle, const Verdict& verdict) {
  std::vector<std::string> broken;
  for (const Finding& finding : verdict.findings) {
    if (!finding.scheduled) continue;
    if (!Replay(oracle, finding).Holds()) {
      broken.push_back(fmt::format("the schedule of {} {} {} {} does not show it", finding.code,
                                   finding.subject, finding.role, finding.other));
    }
  }
  return broken;
}

}  // namespace ss::pipeline
