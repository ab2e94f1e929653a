// The matcher: a report against the `expect` lines of its file.
//
// A line stands for every finding that it describes, so one line covers the same finding on all
// ranks; lines that say the same word for word need as many findings. Rejected: one line a finding,
// which would make an author label operations only to tell apart what he sees as one fault.
// Findings below the threshold of a default report (possible ones, those that only a hand-over
// orders) are as invisible here as they are there.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/litmus/litmus.h"

namespace ss {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Lanes are printed as GRAPH/STREAM inside a launch and STREAM@HOST for another thread's per-thread
// stream; a line may use the graph's or the stream's name alone.
bool IsLaneName(const std::string& lane, const std::string& name) {
  if (lane == name) return true;
  size_t slash = lane.find('/');
  size_t at = lane.find('@');
  if (slash != std::string::npos && lane.substr(0, slash) == name) return true;
  std::string stream = slash == std::string::npos ? lane : lane.substr(slash + 1);
  return stream == name || (at != std::string::npos && lane.substr(0, at) == name);
}

bool NamesLane(const Site& site, const std::string& name) {
  if (IsLaneName(site.lane, name) || Contains(site.lane_aliases, name)) return true;
  return site.stream == 0 && site.host == name;
}

bool NamesSite(const Site& site, const std::string& name) {
  if (name.empty()) return true;
  return (!site.label.empty() && site.label == name) || NamesLane(site, name) ||
         name == fmt::format("rank{}", site.rank);
}

bool NamesBuffer(const Finding& finding, const std::string& name) {
  return finding.buffer.name == name || Contains(finding.buffer.aliases, name);
}

bool Visible(const Finding& finding) {
  return finding.confidence >= Confidence::kLikely && !finding.handover_only;
}

bool Describes(const Expectation& line, const Finding& finding) {
  if (finding.code != line.code || !NamesBuffer(finding, line.subject)) return false;
  bool in_order = NamesSite(finding.first, line.first) && NamesSite(finding.second, line.second);
  // Ranks run side by side: neither is the first.
  bool ranks = line.code.rfind("collective-", 0) == 0;
  return in_order ||
         (ranks && NamesSite(finding.second, line.first) && NamesSite(finding.first, line.second));
}

// A fix names lanes as the report prints them; the line may use any name of that lane.
bool FixLane(const Finding& finding, const std::string& lane, const std::string& name) {
  if (IsLaneName(lane, name)) return true;
  for (const Site* site : {&finding.first, &finding.second, &finding.reuse}) {
    if (site->lane == lane && NamesLane(*site, name)) return true;
  }
  return false;
}

bool FixOperation(const Finding& finding, const std::string& operation, const std::string& name) {
  if (operation == name) return true;
  for (const Site* site : {&finding.first, &finding.second}) {
    if (site->label == operation || site->name == operation) {
      if (site->label == name || site->name == name) return true;
    }
  }
  return false;
}

bool SameFix(const Finding& finding, const Fix& fix, const ExpectFix& wanted) {
  if (fix.kind != wanted.kind) return false;
  auto buffer = [&](const std::string& name) {
    return fix.buffer == name || (fix.buffer == finding.buffer.name && NamesBuffer(finding, name));
  };
  switch (fix.kind) {
    case FixKind::kRecordStream:
      return buffer(wanted.a) && FixLane(finding, fix.consumer, wanted.b);
    case FixKind::kReallocBeforeWait:
      return buffer(wanted.a);
    case FixKind::kWait:
      return FixLane(finding, fix.consumer, wanted.a) && FixLane(finding, fix.producer, wanted.b);
    case FixKind::kHostSync:
      return FixLane(finding, fix.producer, wanted.a);
    case FixKind::kPdlWait:
    case FixKind::kSourceOrder:
    case FixKind::kSplitBatch:
      return FixOperation(finding, fix.consumer, wanted.a);
    case FixKind::kHandoff:
      return FixLane(finding, fix.producer, wanted.a) && FixLane(finding, fix.consumer, wanted.b);
    case FixKind::kFreeLater:
      return buffer(wanted.a);
  }
  return false;
}

bool HasFix(const Finding& finding, const ExpectFix& wanted) {
  return std::any_of(finding.fixes.begin(), finding.fixes.end(),
                     [&](const Fix& fix) { return fix.verified && SameFix(finding, fix, wanted); });
}

bool Satisfies(const Expectation& line, const Finding& finding) {
  if (!Describes(line, finding) || (line.struck && !finding.struck)) return false;
  return !line.fix || HasFix(finding, *line.fix);
}

std::string FixText(const ExpectFix& fix) {
  return fmt::format("{} {}{}{}", Name(fix.kind), fix.a, fix.b.empty() ? "" : " ", fix.b);
}

std::string FixText(const Fix& fix) {
  switch (fix.kind) {
    case FixKind::kRecordStream:
      return fmt::format("record_stream {} {}", fix.buffer, fix.consumer);
    case FixKind::kReallocBeforeWait:
      return "realloc-before-wait " + fix.buffer;
    case FixKind::kWait:
      return fmt::format("wait {} {}", fix.consumer, fix.producer);
    case FixKind::kHostSync:
      return "host-sync " + fix.producer;
    case FixKind::kPdlWait:
      return "pdl-wait " + fix.consumer;
    case FixKind::kHandoff:
      return fmt::format("handoff {} {}", fix.producer, fix.consumer);
    case FixKind::kFreeLater:
      return "free-later " + fix.buffer;
    case FixKind::kSourceOrder:
    case FixKind::kSplitBatch:
      return fmt::format("{} {}", Name(fix.kind), fix.consumer);
  }
  return "";
}

std::string LineText(const Expectation& line) {
  std::string text = line.code;
  for (const std::string* word : {&line.subject, &line.first, &line.second}) {
    if (!word->empty()) text += " " + *word;
  }
  if (line.struck) text += " struck";
  return line.fix ? text + " fix " + FixText(*line.fix) : text;
}

const std::string& SiteText(const Site& site) {
  return site.label.empty() ? site.lane : site.label;
}

// A finding as the line that would expect it, with the source lines of its operations.
std::string FindingText(const Finding& finding) {
  std::string text =
      fmt::format("{} {} {}", finding.code, finding.buffer.name, SiteText(finding.first));
  if (finding.code != "lifetime") text += " " + SiteText(finding.second);
  if (finding.struck) text += " struck";
  return text + fmt::format(" (lines {} and {})", finding.first.line, finding.second.line);
}

std::string AdviceText(const Advice& advice) { return advice.code + " " + advice.subject; }

std::string FixList(const Finding& finding) {
  std::string text;
  for (const Fix& fix : finding.fixes) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", FixText(fix),
                        fix.verified ? "" : " (not verified)");
  }
  return text.empty() ? "no fix" : text;
}

// How much of the line the finding has: what to show as the nearest one.
int Likeness(const Expectation& line, const Finding& finding) {
  return 4 * NamesBuffer(finding, line.subject) + 2 * (finding.code == line.code) +
         NamesSite(finding.first, line.first) + NamesSite(finding.second, line.second);
}

class Matcher {
 public:
  Matcher(const std::vector<Expectation>& lines, const Report& report)
      : lines_(lines), report_(report) {
    for (const Finding& finding : report.findings) {
      if (Visible(finding)) findings_.push_back(&finding);
    }
  }

  std::vector<std::string> Run() {
    for (const Expectation& line : lines_) Check(line);
    for (const Finding* finding : findings_) CheckExpected(*finding);
    return std::move(messages_);
  }

 private:
  void Check(const Expectation& line) {
    switch (line.kind) {
      case Expectation::Kind::kHazard:
        return CheckHazard(line);
      case Expectation::Kind::kAdvice:
        return CheckAdvice(line);
      case Expectation::Kind::kNoAdvice:
        return CheckNoAdvice(line);
      case Expectation::Kind::kNoHazard:
        return;  // CheckExpected says it
    }
  }

  void CheckHazard(const Expectation& line) {
    size_t found = std::count_if(findings_.begin(), findings_.end(),
                                 [&](const Finding* finding) { return Satisfies(line, *finding); });
    size_t wanted = ++asked_[LineText(line)];
    if (found >= wanted) return;
    std::string reason =
        found ? fmt::format("there {} only {}", found == 1 ? "is" : "are", found) : WhyNot(line);
    Say(line, LineText(line), reason);
  }

  std::string WhyNot(const Expectation& line) const {
    const Finding* nearest = nullptr;
    for (const Finding* finding : findings_) {
      if (Describes(line, *finding)) return WhyNotThis(line, *finding);
      if (!nearest || Likeness(line, *finding) > Likeness(line, *nearest)) nearest = finding;
    }
    return nearest ? "nearest is " + FindingText(*nearest) : "found no hazard";
  }

  static std::string WhyNotThis(const Expectation& line, const Finding& finding) {
    if (line.struck && !finding.struck) return "the storage was not handed out again in this run";
    return fmt::format("{} has {}", FindingText(finding), FixList(finding));
  }

  void CheckAdvice(const Expectation& line) {
    std::string found;
    for (const Advice& advice : report_.advice) {
      bool subject = line.subject.empty() || advice.subject == line.subject ||
                     Contains(advice.aliases, line.subject);
      if (advice.code == line.code && subject) return;
      found += (found.empty() ? "" : ", ") + AdviceText(advice);
    }
    Say(line, "advice " + LineText(line), found.empty() ? "found no advice" : "found " + found);
  }

  void CheckNoAdvice(const Expectation& line) {
    for (const Advice& advice : report_.advice)
      Say(line, "no advice", "found " + AdviceText(advice));
  }

  // An absorbed finding is a consequence of one that is reported: a line may name it, none has to.
  void CheckExpected(const Finding& finding) {
    if (finding.absorbed) return;
    for (const Expectation& line : lines_) {
      if (line.kind == Expectation::Kind::kHazard && Describes(line, finding)) return;
    }
    for (const Expectation& line : lines_) {
      if (line.kind == Expectation::Kind::kNoHazard)
        return Say(line, "no hazard", "found " + FindingText(finding));
    }
    messages_.push_back("no line expects " + FindingText(finding));
  }

  void Say(const Expectation& line, const std::string& expected, const std::string& found) {
    messages_.push_back(fmt::format("line {}: expected {}; {}", line.line, expected, found));
  }

  const std::vector<Expectation>& lines_;
  const Report& report_;
  std::vector<const Finding*> findings_;
  std::map<std::string, size_t> asked_;  // by line text: identical lines so far
  std::vector<std::string> messages_;
};

}  // namespace

std::vector<std::string> MatchExpectations(const std::vector<Expectation>& expectations,
                                           const Report& report) {
  std::vector<std::string> messages = Matcher(expectations, report).Run();
  if (report.coverage.complete) return messages;
  // What was not looked at is no answer, whatever the file expects.
  const std::vector<std::string>& notes = report.coverage.notes;
  messages.push_back("the answer is incomplete: " + (notes.empty() ? "" : notes.back()));
  return messages;
}

}  // namespace ss
