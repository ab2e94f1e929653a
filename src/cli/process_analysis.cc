#include "src/cli/process_analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/cli/output.h"
#include "src/trace/reader.h"

namespace ss {
namespace {

// More than a page draws smoothly, and what most programs of a few steps do.
constexpr size_t kPictureOperations = 200'000;

Program RecordedNames() {
  Program names;
  names.recorded = true;
  return names;
}

std::string CommandText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// The program's line first: reports name the first frame that has one.
std::vector<Frame> FrontFrames(const DescribedStack& stack) {
  std::vector<Frame> frames;
  if (stack.line) frames.push_back({stack.function, stack.file, stack.line, "", 0});
  if (!stack.module.empty()) frames.push_back({"module " + stack.module, "", 0, "", 0});
  return frames;
}

// What is cut off behind some record was not called before it.
bool HasAllUpToItsEnd(const trace::ReadStats& stats) {
  return stats.damaged_blocks + stats.damaged_bytes + stats.unknown_records +
             stats.malformed_records + stats.lost + stats.evicted ==
         0;
}

}  // namespace

AnalyseOptions EngineOptions(const ReportOptions& options) {
  AnalyseOptions engine;
  engine.strict = options.strict;
  engine.handovers = options.min_confidence == Confidence::kPossible;
  engine.beginnings_only = options.min_confidence != Confidence::kPossible;
  const bool drawn = options.format == Format::kHtml || options.format == Format::kPerfetto;
  if (drawn) engine.picture = kPictureOperations;
  return engine;
}

ProcessAnalysis::ProcessAnalysis(const AnalyseOptions& options, Pace pace)
    : pace_(pace),
      kernels_(kernels::Cache::Default(), kernels::Disassembler::Find()),
      names_(RecordedNames()),
      importer_(names_, {.kernels = &kernels_}),
      engine_(names_, options) {}

// Where the room is used up, the first one goes as it is in a program that runs, and is counted.
void ProcessAnalysis::Feed(const trace::Record& record) {
  kernels_.Feed(record);  // at once: what is asked for early is there early
  if (!parked_.empty()) Unpark(nullptr);
  if (parked_.empty() && MayGo(record, nullptr)) return importer_.Feed(record, *this);
  parked_.push_back(record);
  if (parked_.size() < kMaxParked) return;
  if (pace_ == Pace::kFinished) return WaitForAll(kPatience);
  FeedFirstParked();
}

bool ProcessAnalysis::MayGo(const trace::Record& record, const WaitLimit* limit) {
  constexpr std::chrono::milliseconds kLook{200};
  const kernels::KernelEntry* kernel = importer_.WaitsFor(record);
  if (kernel == nullptr) return true;
  auto now = std::chrono::steady_clock::now();
  if (!limit) return pace_ == Pace::kPrompt && now - kernel->asked >= kPatience;
  for (; now < limit->until; now = std::chrono::steady_clock::now()) {
    if (limit->given_up && limit->given_up()) break;
    if (kernels_.Wait(*kernel, kLook)) break;
  }
  return true;
}

void ProcessAnalysis::FeedFirstParked() {
  importer_.Feed(parked_.front(), *this);
  parked_.pop_front();
}

void ProcessAnalysis::Unpark(const WaitLimit* limit) {
  while (!parked_.empty() && MayGo(parked_.front(), limit)) FeedFirstParked();
}

void ProcessAnalysis::WaitForAll(std::chrono::milliseconds patience) {
  const bool finished = pace_ == Pace::kFinished;
  const WaitLimit limit{std::chrono::steady_clock::now() +
                        (finished ? std::chrono::hours(1) : patience)};
  Unpark(&limit);
}

void ProcessAnalysis::Settle(uint64_t seq) {
  WaitForAll(kPatience);
  importer_.Advance(seq + 1, *this);
}

RankCalls ProcessAnalysis::Calls() const {
  RankCalls calls = importer_.collectives();
  SetOrder(calls, engine_.collectives());
  return calls;
}

Analysed ProcessAnalysis::RankSoFar() {
  WaitForAll(kPatience);
  Analysed analysed;
  analysed.report.coverage = importer_.coverage();
  analysed.calls = Calls();
  analysed.calls.to_end = false;
  analysed.stacks = Stacks();
  KeepReferenced(analysed);
  return analysed;
}

Analysed ProcessAnalysis::Finish(const WaitLimit* limit) {
  if (limit) {
    Unpark(limit);
  } else {
    WaitForAll(kEndPatience);
  }
  importer_.Finish(*this);
  names_.source = CommandText(process().command);
  Analysed analysed;
  analysed.calls = Calls();
  Report& report = analysed.report = engine_.Finish();
  Coverage seen = importer_.coverage();
  seen.muted_private += report.coverage.muted_private;
  seen.complete = seen.complete && report.coverage.complete;
  for (std::string& note : kernels_.Notes()) seen.notes.push_back(std::move(note));
  seen.notes.insert(seen.notes.end(), report.coverage.notes.begin(), report.coverage.notes.end());
  report.coverage = std::move(seen);
  if (process().ended) {
    report.running.clear();  // at its end, whatever it left running was meant
  } else if (trails_) {
    TellTrails(report);
  }
  report.pid = static_cast<int64_t>(process().pid);
  for (const trace::Trial& trial : process().trials) {
    report.trials.push_back({"", "", "", static_cast<trace::TrialOutcome>(trial.outcome),
                             static_cast<double>(trial.held_us) / 1e6, trial.result});
  }
  if (process().rank >= 0) SetRank(report, static_cast<uint32_t>(process().rank), false);
  analysed.stacks = Stacks();
  analysed.shared = importer_.shared();
  return analysed;
}

void ProcessAnalysis::TellTrails(Report& report) {
  report.trails = trails_->Tell([this](const Op& op) { return engine_.SiteOf(op); });
  if (trails_->unmarked() != 0) {
    report.coverage.notes.push_back(
        fmt::format("breadcrumbs: {} operations have none", trails_->unmarked()));
  }
}

ProcessStacks ProcessAnalysis::Stacks() const {
  ProcessStacks stacks;
  for (const Image& image : importer_.images()) {
    stacks.modules.push_back({image.base, image.begin, image.end, image.path, image.build_id});
  }
  importer_.stacks().ForEach([&](StackId id, std::span<const uint64_t> addresses) {
    stacks.stacks.push_back({id, {}, {addresses.begin(), addresses.end()}});
  });
  for (const DescribedStack& stack : importer_.described_stacks()) {
    std::span<const uint64_t> addresses = importer_.stacks().Get(stack.recorded);
    stacks.stacks.push_back({stack.id, FrontFrames(stack), {addresses.begin(), addresses.end()}});
  }
  return stacks;
}

Result<Analysed> AnalyseTraceFile(const std::string& path, const AnalyseOptions& options,
                                  const std::function<void(const Analysis&)>& then) {
  ProcessAnalysis analysis(options, Pace::kFinished);
  Result<Analysed> analysed = AnalyseTraceFile(path, analysis);
  if (analysed && then) then(analysis.engine());
  return analysed;
}

Result<Analysed> AnalyseTraceFile(const std::string& path, ProcessAnalysis& analysis) {
  Result<trace::TraceReader> reader = trace::TraceReader::Open(path);
  if (!reader) return tl::unexpected(reader.error());
  for (;;) {
    Result<std::optional<trace::Record>> record = reader->Next();
    if (!record) return tl::unexpected(record.error());
    if (!*record) break;
    analysis.Feed(**record);
  }
  Analysed analysed = analysis.Finish();
  Coverage& coverage = analysed.report.coverage;
  coverage.complete = coverage.complete && reader->stats().Complete();
  analysed.calls.from_start = analysed.calls.from_start && HasAllUpToItsEnd(reader->stats());
  for (const std::string& note : reader->notes()) coverage.notes.push_back(note);
  return analysed;
}

}  // namespace ss
