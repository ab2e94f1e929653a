#include <fmt/format.h>

#include <algorithm>

#include "src/pipeline/check.h"

namespace ss::pipeline {
namespace {

constexpr char kDeadlock[] = "pipeline-deadlock";

std::string Line(const std::string& code, const std::string& subject, const std::string& role,
                 const std::string& other) {
  std::string line = "expect " + code;
  for (const std::string& word : {subject, role, other}) {
    if (!word.empty()) line += " " + word;
  }
  return line;
}

bool Covers(const Expectation& expectation, const Finding& finding) {
  return expectation.code == finding.code && expectation.subject == finding.subject &&
         std::minmax(expectation.role, expectation.other) ==
             std::minmax(finding.role, finding.other);
}

bool IsMet(const Expectation& expectation, const Verdict& verdict) {
  if (expectation.code == kDeadlock) {
    return std::any_of(verdict.stuck.begin(), verdict.stuck.end(),
                       [&](const auto& roles) { return roles.count(expectation.role) > 0; });
  }
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [&](const Finding& finding) { return Covers(expectation, finding); });
}

}  // namespace

std::vector<std::string> Match(const Protocol& protocol, const Verdict& verdict) {
  std::vector<std::string> messages;
  for (const Expectation& one : protocol.expectations) {
    if (IsMet(one, verdict)) continue;
    messages.push_back(fmt::format("line {}: not found: {}", one.line,
                                   Line(one.code, one.subject, one.role, one.other)));
  }
  for (const Finding& finding : verdict.findings) {
    if (finding.absorbed || finding.code == kDeadlock) continue;
    bool covered = std::any_of(protocol.expectations.begin(), protocol.expectations.end(),
                               [&](const Expectation& one) { return Covers(one, finding); });
    if (covered) continue;
    messages.push_back(
        fmt::format("line {}: unexpected: {}", finding.line,
                    Line(finding.code, finding.subject, finding.role, finding.other)));
  }
  for (const std::set<std::string>& roles : verdict.stuck) {
    bool covered = std::any_of(
        protocol.expectations.begin(), protocol.expectations.end(),
        [&](const Expectation& one) { return one.code == kDeadlock && roles.count(one.role) > 0; });
    if (covered) continue;
    messages.push_back(fmt::format("unexpected: {} (stuck together: {})",
                                   Line(kDeadlock, "", *roles.begin(), ""),
                                   fmt::join(roles, ", ")));
  }
  return messages;
}

}  // namespace ss::pipeline
