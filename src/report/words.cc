#include "src/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "src/base/demangle.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

// 8388608 -> "8M": exact or not at all, so that a range can be pasted into a litmus file.
std::string ExactSize(uint64_t value) {
  static constexpr struct {
    uint64_t unit;
    char letter;
  } kUnits[] = {{1ull << 30, 'G'}, {1ull << 20, 'M'}, {1ull << 10, 'K'}};
  for (auto [unit, letter] : kUnits) {
    if (value >= unit && value % unit == 0) return fmt::format("{}{}", value / unit, letter);
  }
  return fmt::format("{}", value);
}

std::string Verb(const std::string& access) {
  if (access == "read") return "reads";
  if (access == "write") return "writes";
  if (access == "read+write") return "reads and writes";
  if (access == "atomic") return "updates";
  if (access == "free") return "frees";
  if (access == "alloc") return "allocates";
  return access;
}

std::string Who(const Site& site) {
  return fmt::format("{} on {}", KernelText(site.name), LaneText(site));
}

std::string WrongLifetime(const Finding& finding, const std::string& subject) {
  const Site& use = finding.first;
  if (finding.second.access == "alloc") {
    return fmt::format("{} is used by {} before its allocation is complete there.", subject,
                       Who(use));
  }
  if (use.index > finding.second.index) {
    return fmt::format("{} is used by {} after it was freed.", subject, Who(use));
  }
  return fmt::format("{} went back to its allocator while {} may still use it.", subject, Who(use));
}

// There `buffer` stands for the communicator.
std::string WrongCollective(const Finding& finding) {
  auto who = [](const Site& site) {
    return site.op ? fmt::format("{} on rank {}, {}", site.name, site.rank, site.lane)
                   : fmt::format("nothing on {}", site.lane);
  };
  const char* wrong = finding.code == "collective-order"
                          ? "its members issue operations in different orders or wait in a circle"
                          : "an operation has no counterpart, or one that differs";
  return fmt::format("Communicator {}: {} ({}; {}).", finding.buffer.name, wrong,
                     who(finding.first), who(finding.second));
}

}  // namespace

std::string BytesText(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string RangeText(uint64_t begin, uint64_t end) {
  return fmt::format("[{}:{}]", ExactSize(begin), ExactSize(end));
}

// As a litmus file has it: [0:256 pitch 1K rows 16].
std::string RangeText(const Site& site) {
  if (site.rows.levels.empty()) return RangeText(site.begin, site.end);
  std::string text =
      fmt::format("[{}:{}", ExactSize(site.begin), ExactSize(site.begin + site.rows.row));
  for (const Shape::Level& level : site.rows.levels) {
    text += fmt::format(" pitch {} rows {}", ExactSize(level.pitch), level.count);
  }
  return text + "]";
}

std::string LaneText(const Site& site) {
  return site.rank || site.among_ranks ? fmt::format("rank{} {}", site.rank, site.lane) : site.lane;
}

bool IsCollective(const Finding& finding) { return finding.code.rfind("collective-", 0) == 0; }

std::string AccessText(const Site& site, const std::string& buffer) {
  std::string text = fmt::format("{} {}", Verb(site.access), buffer);
  bool touches = site.access != "free" && site.access != "alloc";
  return touches && site.end > site.begin ? text + RangeText(site) : text;
}

std::string CodeText(const std::string& code) {
  static const std::map<std::string, const char*> kTexts = {
      {"race-raw", "A read is not ordered after the write that it needs"},
      {"race-war", "A write is not ordered after a read of what it replaces"},
      {"race-waw", "Two writes of the same bytes have no order"},
      {"lifetime", "Storage goes back to its allocator while it may still be used"},
      {"fill-race", "An allocator's initialising write is not ordered with a use"},
      {"host-race", "CPU code and the GPU touch the same bytes in no order"},
      {"collective-order", "Ranks issue collectives in different orders"},
      {"collective-mismatch", "A collective has no counterpart, or one that differs"},
      {"wait-unrecorded", "A wait for an event that was never recorded orders nothing"},
      {"record-stream-noop", "The recorded stream owns the block: that protects nothing"},
      {"redundant-wait", "A wait for what is ordered already"},
      {"redundant-record-stream", "record_stream where the use is covered already"},
      {"implicit-sync", "Ordered only by an incidental synchronisation"},
      {"alloc-unordered", "A block's first use is not ordered after its owner's work"},
      {"await-never", "No signal can release the wait"},
      {"pipeline-owner", "A role takes part in a pipeline that is another role's"},
      {"pipeline-deadlock", "A warp waits for a phase that never comes"},
      {"pipeline-early", "A wait passes, by parity, two phases too soon"},
      {"pipeline-overtake", "A barrier goes on while a role still waits for its last phase"},
      {"pipeline-race", "Two roles touch a stage's buffer in no order"}};
  auto found = kTexts.find(code);
  return found == kTexts.end() ? code : found->second;
}

std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

const char* Name(trace::TrialOutcome outcome) {
  static constexpr const char* kNames[] = {"not-reached", "confirmed", "waited",  "not-issued",
                                           "came-first",  "in-graph",  "refused", "gone"};
  const auto number = static_cast<size_t>(outcome);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::string TrialText(const Trial& trial) {
  constexpr char kNoProof[] = "one run that goes well refutes nothing";
  using trace::TrialOutcome;
  const std::string first = trial.first.empty() ? "the first call" : trial.first;
  const std::string second = trial.second.empty() ? "the second call" : trial.second;
  const std::string held = fmt::format("{} was held back for {:.3g} s", first, trial.seconds);
  const std::string overtaken =
      fmt::format("{}, and {} was complete before it began", held, second);
  switch (trial.outcome) {
    case TrialOutcome::kNotReached:
      return fmt::format("not reached: {} did not come in this run", first);
    case TrialOutcome::kConfirmed:
      return "confirmed: " + overtaken;
    case TrialOutcome::kGone:
      return fmt::format(
          "not confirmed: {}; but this run does not have the hazard, so they do not meet",
          overtaken);
    case TrialOutcome::kWaited:
      return fmt::format(
          "not confirmed: {}, and {} was issued and not complete by then: something makes it wait "
          "for the first, or it found no room on the device; {}",
          held, second, kNoProof);
    case TrialOutcome::kNotIssued:
      return fmt::format(
          "not confirmed: {}, and {} was not issued by then: the host waits for the first, or "
          "takes "
          "longer (--hold); {}",
          held, second, kNoProof);
    case TrialOutcome::kCameFirst:
      return fmt::format("not tried: {} came before {} in this run", second, first);
    case TrialOutcome::kInGraph:
      return "not tried: one of the two calls is captured into a graph in this run";
    case TrialOutcome::kRefused:
      return fmt::format("not tried: the driver refused to hold or mark a stream (error {})",
                         trial.result);
  }
  return fmt::format("not known: outcome {}", static_cast<uint64_t>(trial.outcome));
}

std::string WrongText(const Finding& finding, const std::string& subject) {
  const Site &first = finding.first, &second = finding.second;
  if (finding.code == "lifetime") return WrongLifetime(finding, subject);
  if (IsCollective(finding)) return WrongCollective(finding);
  if (finding.code == "race-raw") {
    return fmt::format("{} may be read by {} before {} has written it.", subject, Who(second),
                       Who(first));
  }
  if (finding.code == "race-war") {
    return fmt::format("{} may be overwritten by {} while {} still reads it.", subject, Who(second),
                       Who(first));
  }
  if (finding.code == "race-waw") {
    return fmt::format("{} is written by {} and by {}, in no order.", subject, Who(first),
                       Who(second));
  }
  std::string pair = fmt::format("{} and {}", Who(first), Who(second));
  if (finding.code == "fill-race") {
    return fmt::format("{}: its allocator's initialising write is not ordered with its use ({}).",
                       subject, pair);
  }
  if (finding.code == "host-race") {
    return fmt::format("{} is touched by CPU code with no order to the other side ({}).", subject,
                       pair);
  }
  return fmt::format("{}: {} are not ordered.", subject, pair);
}

std::string FixText(const Fix& fix) {
  if (!fix.text.empty()) return fix.text;
  switch (fix.kind) {
    case FixKind::kRecordStream:
      return fmt::format("record_stream({}, {})", fix.buffer, fix.consumer);
    case FixKind::kReallocBeforeWait:
      return fmt::format("allocate {} before the record that the wait is for", fix.buffer);
    case FixKind::kWait:
      return fmt::format("{} waits for {}", fix.consumer, fix.producer);
    case FixKind::kHostSync:
      return fmt::format("synchronise {} on the host", fix.producer);
    case FixKind::kPdlWait:
      return fmt::format("grid-dependency wait in {}", fix.consumer);
    case FixKind::kHandoff:
      return fmt::format("{} continues after {} got there", fix.consumer, fix.producer);
    case FixKind::kFreeLater:
      return fmt::format("free {} when {} is done with it", fix.buffer, fix.producer);
    case FixKind::kSourceOrder:
      return fmt::format("let {} read its source in another order", fix.consumer);
    case FixKind::kSplitBatch:
      return fmt::format("let {} begin a batch of its own", fix.consumer);
  }
  return Name(fix.kind);
}

std::string ChangeText(const Finding& finding) {
  return finding.change.empty() ? "" : finding.change + " (not tried)";
}

std::string WhyText(const Finding& finding) {
  std::vector<std::string> parts = {finding.root_cause};
  parts.insert(parts.end(), finding.evidence.begin(), finding.evidence.end());
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string part = parts[i].substr(0, parts[i].find_last_not_of('.') + 1);
    if (part.empty() || text.find(part) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + part;
  }
  return text.empty() ? text : text + ".";
}

std::string BasisText(const Finding& finding) {
  bool host_side = finding.second.access == "free" || finding.second.access == "alloc";
  Evidence direction = finding.first.direction, extent = finding.first.extent;
  if (!host_side) {
    direction = std::max(direction, finding.second.direction);
    extent = std::max(extent, finding.second.extent);
  }
  const char* order = finding.handover_only ? "hand-over between host threads"
                      : finding.unsettled   ? "not followed to its end"
                                            : "exact";
  return fmt::format("direction: {}; extent: {}; order: {}.", Name(direction), Name(extent), order);
}

std::string FunctionText(const std::string& function) {
  constexpr size_t kLong = 60;
  std::string text = WithoutAnonymous(function);
  if (text.compare(0, 8, "operator") == 0) return text;
  if (size_t open = text.find('('); open != std::string::npos && open != 0) text.resize(open);
  size_t angle = text.find('<');
  return text.size() > kLong && angle != std::string::npos ? text.substr(0, angle) + "<...>" : text;
}

std::string KernelText(const std::string& name) {
  constexpr size_t kLongest = 48;
  std::string text = FunctionText(Demangled(name.c_str()));
  if (text.rfind("void ", 0) == 0) text.erase(0, 5);
  return text.size() > kLongest ? text.substr(0, kLongest - 3) + "..." : text;
}

std::string Counted(uint64_t count, const std::string& noun) {
  const bool hisses = noun.ends_with("ch") || noun.ends_with("sh");
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : hisses ? "es" : "s");
}

std::vector<std::string> Wrap(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace ss
