#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "src/report/observed.h"
#include "src/report/words.h"

namespace ss {
namespace {

using pipeline::SeenBarrier;
using pipeline::SeenFinding;
using pipeline::SeenKernel;
using pipeline::SeenPair;
using pipeline::SeenRole;

constexpr size_t kWidth = 100;

class Printer {
 public:
  explicit Printer(uint64_t limit) : limit_(limit) {}

  std::string Print(const std::vector<ObservedReport>& reports) {
    for (const ObservedReport& report : reports) {
      for (const SeenFinding& finding : report.seen.findings) {
        if (++hazards_ <= limit_) Hazard(report, finding);
      }
    }
    if (hazards_ > limit_) Line("{} more hazards not spelled out", hazards_ - limit_);
    for (const ObservedReport& report : reports) Seen(report);
    return std::move(out_);
  }

 private:
  template <typename... T>
  void Line(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
    out_ += '\n';
  }

  void Hazard(const ObservedReport& report, const SeenFinding& finding) {
    const SeenKernel& kernel = report.seen.kernels[finding.kernel];
    Line("StreamSan: {}  error, {}  H{}", finding.code, finding.certain ? "certain" : "likely",
         hazards_);
    for (const std::string& line : Wrap(Sentence(finding.text), kWidth - 2)) Line("  {}", line);
    Line("");
    Line("    {}, {}", KernelText(kernel.name), PlaceOf(report, finding));
    if (finding.barriers.size() > 1) {
      Line("    {} stages: {:#x}", finding.barriers.size(), fmt::join(finding.barriers, ", "));
    }
    for (const std::string& detail : finding.details) Line("    {}", detail);
    Line("");
  }

  static std::string PlaceOf(const ObservedReport& report, const SeenFinding& finding) {
    const auto it = report.places.find({finding.kernel, finding.place});
    std::string text = fmt::format("+0x{:x}", finding.place);
    if (it == report.places.end()) return text;
    text += ": " + it->second.sass;
    if (!it->second.lines.empty())
      text += fmt::format("\n    in {}", fmt::join(it->second.lines, ", in "));
    return text;
  }

  void Seen(const ObservedReport& report) {
    for (const SeenKernel& kernel : report.seen.kernels) {
      if (!kernel.barriers.empty()) Kernel(kernel);
    }
    const pipeline::Observation& seen = report.seen;
    size_t kernels =
        std::count_if(seen.kernels.begin(), seen.kernels.end(),
                      [](const SeenKernel& kernel) { return !kernel.barriers.empty(); });
    Line("{}: {} with mbarriers, {} records.  {}", Counted(report.Hazards(), "hazard"),
         Counted(kernels, "kernel"), seen.records, report.CoverageText());
  }

  void Kernel(const SeenKernel& kernel) {
    Line("kernel {}: {}, {} of {} blocks watched, {} records", KernelText(kernel.name),
         Counted(kernel.launches, "launch"), kernel.blocks_watched, kernel.blocks, kernel.records);
    for (const SeenPair& pair : kernel.pairs) Pair(kernel, pair);
    for (const auto& [offset, barrier] : kernel.barriers) {
      if (!kernel.PairOf(offset)) Alone(kernel, offset, barrier);
    }
    if (kernel.unused) Line("  {} initialised and not used", Counted(kernel.unused, "mbarrier"));
    if (kernel.unread) {
      Line("  {} arrivals and looks whose mbarrier could not be read: phases and parities unknown",
           kernel.unread);
    }
    if (const std::vector<uint32_t> unseen = kernel.Unseen(); !unseen.empty()) {
      Line(
          "  {:#x}: {} arrivals that were not seen: {} not judged for being early, owners there "
          "neither",
          fmt::join(unseen, ", "), unseen.size() == 1 ? "has" : "have",
          CountedAre(kernel.withheld, "wait"));
    }
    Line("");
  }

  static std::string CountedAre(uint64_t count, const char* noun) {
    return Counted(count, noun) + (count == 1 ? " is" : " are");
  }

  static std::string Roles(const SeenKernel& kernel, const std::vector<uint32_t>& roles) {
    std::vector<std::string> names;
    names.reserve(roles.size());
    for (uint32_t role : roles) names.push_back(kernel.roles[role].name);
    return fmt::format("{}", fmt::join(names, " and "));
  }

  void Pair(const SeenKernel& kernel, const SeenPair& pair) {
    const SeenBarrier& full = kernel.barriers.at(pair.full);
    const SeenBarrier& empty = kernel.barriers.at(pair.empty);
    Line("  0x{:x} / 0x{:x}  {}{} -> {}: filled {} times, released {} times{}", pair.full,
         pair.empty, Roles(kernel, pair.producers), full.bytes ? " (copies)" : "",
         Roles(kernel, pair.consumers), full.phases, empty.phases,
         pair.oriented ? "" : " (or the other way round)");
  }

  void Alone(const SeenKernel& kernel, uint32_t offset, const SeenBarrier& barrier) {
    std::vector<std::string> arrive, wait;
    for (const SeenRole& role : kernel.roles) {
      if (role.Arrives(offset)) arrive.push_back(role.name);
      if (role.Waits(offset)) wait.push_back(role.name);
    }
    if (arrive.empty()) arrive.emplace_back("nobody");
    if (wait.empty()) wait.emplace_back("nobody");
    Line("  0x{:x}  {}{} -> {}: {} phases", offset, fmt::join(arrive, " and "),
         barrier.bytes ? " (copies)" : "", fmt::join(wait, " and "), barrier.phases);
  }

  const uint64_t limit_;
  uint64_t hazards_ = 0;
  std::string out_;
};

}  // namespace

std::string ObservedReport::CoverageText() const {
  std::vector<std::string> missing;
  if (seen.dropped)
    missing.push_back(fmt::format("at least {} records found no room (--log-mb N)", seen.dropped));
  if (seen.unwatched)
    missing.push_back(
        fmt::format("{} of {} launches beyond the first of their kernel (--launches N)",
                    seen.unwatched, seen.launches));
  uint64_t blocks = 0, watched = 0;
  size_t unseen = 0;
  uint64_t unread = 0;
  for (const SeenKernel& kernel : seen.kernels) {
    if (kernel.barriers.empty()) continue;
    blocks += kernel.blocks;
    watched += kernel.blocks_watched;
    unseen += kernel.Unseen().size();
    unread += kernel.unread;
  }
  if (unread) missing.push_back(fmt::format("the mbarriers of {} arrivals and looks", unread));
  if (unseen) missing.push_back(fmt::format("arrivals on {}", Counted(unseen, "mbarrier")));
  if (watched < blocks)
    missing.push_back(fmt::format("{} of {} blocks (--blocks N)", blocks - watched, blocks));
  if (seen.graphs) missing.push_back(fmt::format("the kernels of {} graph launches", seen.graphs));
  if (seen.cut_short) missing.push_back("what came after the recording broke off");
  if (!places_problem.empty()) missing.push_back("instructions: " + places_problem);
  return missing.empty() ? "Coverage: every launch and block."
                         : fmt::format("Not seen: {}.", fmt::join(missing, "; "));
}

bool ObservedReport::Complete() const {
  if (seen.dropped || seen.unwatched || seen.graphs || seen.cut_short) return false;
  return std::all_of(seen.kernels.begin(), seen.kernels.end(), [](const SeenKernel& kernel) {
    return kernel.barriers.empty() ||
           (kernel.blocks_watched == kernel.blocks && kernel.Unseen().empty() && !kernel.unread);
  });
}

std::string PrintObservedText(const std::vector<ObservedReport>& reports, uint64_t print_limit) {
  return Printer(print_limit).Print(reports);
}

}  // namespace ss
