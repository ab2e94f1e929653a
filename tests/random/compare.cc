#include "tests/random/compare.h"

#include <fmt/format.h>

#include "src/program/op_names.h"

namespace ss::random {
namespace {

std::string Place(const std::vector<Op>& ops, size_t index) {
  const Op& op = ops[index];
  return fmt::format("line {} ({})", op.line, Name(op.kind));
}

std::string HazardText(const std::vector<Op>& ops, const std::string& code,
                       const std::string& buffer, bool struck, size_t first, size_t second) {
  return fmt::format("{} {}{}: {} / {}", code, buffer, struck ? " struck" : "", Place(ops, first),
                     Place(ops, second));
}

void AddInstances(const std::vector<Op>& ops, const Finding& finding, Answer* answer) {
  auto add = [&](size_t first, size_t second) {
    answer->hazards.insert(
        HazardText(ops, finding.code, finding.buffer.name, finding.struck, first, second));
  };
  add(finding.first.index, finding.second.index);
  for (const Instance& more : finding.instances) add(more.first_index, more.second_index);
}

void Append(const std::set<std::string>& mine, const std::set<std::string>& others,
            const std::string& name, std::vector<std::string>* lines) {
  for (const std::string& text : mine) {
    if (others.count(text) == 0) lines->push_back("only " + name + ": " + text);
  }
}

}  // namespace

Answer AnswerOf(const Program& program, const reference::Verdict& verdict) {
  Answer answer;
  // One report of all that happens at the same two lines (a graph is launched twice): it struck if
  // one of them did.
  auto text = [&](const reference::Hazard& hazard, bool struck) {
    return HazardText(program.ops, hazard.code, hazard.buffer, struck, hazard.first, hazard.second);
  };
  for (const reference::Hazard& hazard : verdict.hazards) {
    if (!hazard.absorbed) answer.hazards.insert(text(hazard, hazard.struck));
  }
  for (const reference::Hazard& hazard : verdict.hazards) {
    if (answer.hazards.contains(text(hazard, true))) answer.hazards.erase(text(hazard, false));
  }
  for (const reference::Remark& remark : verdict.remarks) {
    answer.advice.insert("advice " + remark.code + " " + remark.subject);
  }
  return answer;
}

Answer AnswerOf(const std::vector<Op>& ops, const Report& report) {
  Answer answer;
  for (const Finding& finding : report.findings) {
    if (finding.code.starts_with("collective-")) {  // rule 24: not the reference's
      answer.tells_of_hang = true;
      continue;
    }
    if (!finding.absorbed) AddInstances(ops, finding, &answer);
  }
  for (const Advice& advice : report.advice) {
    answer.tells_of_hang |= advice.code == "await-never";
    answer.advice.insert("advice " + advice.code + " " + advice.subject);
  }
  answer.tells_of_hang |= !report.coverage.complete;
  return answer;
}

std::vector<std::string> Differences(const Answer& a, const std::string& a_name, const Answer& b,
                                     const std::string& b_name) {
  std::vector<std::string> lines;
  Append(a.hazards, b.hazards, a_name, &lines);
  Append(b.hazards, a.hazards, b_name, &lines);
  Append(a.advice, b.advice, a_name, &lines);
  Append(b.advice, a.advice, b_name, &lines);
  return lines;
}

}  // namespace ss::random
