#include "src/cli/watch.h"

#include <fmt/format.h>

#include <filesystem>

#include "src/cli/child.h"
#include "src/cli/inputs.h"
#include "src/cli/output.h"

namespace ss {
namespace {

constexpr char kNobody[] =
    "no process was seen using the CUDA driver: it was not used, or the program is statically "
    "linked or drops "
    "LD_PRELOAD (`streamsan doctor`)";

void AddNote(Coverage& coverage, std::string note) {
  coverage.complete = false;
  coverage.notes.push_back(std::move(note));
}

// Collectives that disagree are told of when they have stood still this long: a hang, most likely.
constexpr std::chrono::seconds kQuiet{5};
constexpr std::chrono::seconds kQuietWait{2};  // for kernels, before it is said

class TickSink : public trace::ProcessSink {
 public:
  explicit TickSink(std::function<void()> on_tick) : on_tick_(std::move(on_tick)) {}
  void Records(uint32_t, trace::ByteSpan) override {}
  void Tick() override { on_tick_(); }
  void End(const trace::ProcessEnding&) override {}

 private:
  std::function<void()> on_tick_;
};

class CrumbSink : public trace::ProcessSink {
 public:
  using Table = std::shared_ptr<const trace::CrumbTable>;
  explicit CrumbSink(std::function<void(Table)> on_crumbs) : on_crumbs_(std::move(on_crumbs)) {}
  void Records(uint32_t, trace::ByteSpan) override {}
  void Crumbs(Table crumbs) override { on_crumbs_(std::move(crumbs)); }
  void End(const trace::ProcessEnding&) override {}

 private:
  std::function<void(Table)> on_crumbs_;
};

}  // namespace

Result<std::unique_ptr<Watch>> Watch::Create(WatchOptions options) {
  std::unique_ptr<Watch> watch(new Watch(std::move(options)));
  const std::string& output = watch->options_.output;
  if (output.empty()) return watch;
  std::error_code error;
  watch->folder_ = std::filesystem::is_directory(output, error) || !HasSuffix(output, ".sst");
  std::filesystem::path folder =
      watch->folder_ ? std::filesystem::path(output) : std::filesystem::path(output).parent_path();
  if (folder.empty()) return watch;
  std::filesystem::create_directories(folder, error);
  if (error) return Fail(folder.string(), error.message(), "-o names a .sst file or a directory");
  return watch;
}

trace::Sinks Watch::MakeSinks(const trace::ProcessInfo& process) {
  watched_.push_back(std::make_unique<Watched>());
  Watched& watched = *watched_.back();
  watched.info = process;
  trace::Sinks sinks;
  if (options_.analyse)
    sinks.push_back(std::make_unique<CrumbSink>(
        [&watched](auto crumbs) { watched.analysis->Follow(std::move(crumbs)); }));
  if (!options_.output.empty()) AddTraceSink(watched, sinks);
  if (options_.analyse) AddAnalysis(watched, sinks);
  return sinks;
}

void Watch::AddTraceSink(Watched& watched, trace::Sinks& sinks) {
  bool first = watched_.size() == 1;
  std::string path = trace::TracePath(options_.output, folder_, first, watched.info);
  trace::WriterOptions options;
  options.max_bytes = options_.max_trace_bytes;
  auto writer = trace::TraceWriter::Create(path, options);
  if (!writer) {
    watched.trouble = writer.error().Text();
    return;
  }
  watched.writer = std::move(*writer);
  sinks.push_back(std::make_unique<trace::TraceSink>(watched.writer));
}

void Watch::AddAnalysis(Watched& watched, trace::Sinks& sinks) {
  const Pace pace = options_.on_first_hazard ? Pace::kPrompt : Pace::kRunning;
  watched.analysis = std::make_unique<ProcessAnalysis>(options_.engine, pace);
  watched.answers = std::make_unique<Answers>(options_.answers);
  auto on_record = [this, &watched](const trace::Record& record) {
    watched.analysis->Feed(record);
    if (std::holds_alternative<trace::NcclCall>(record.body)) {
      last_call_ = std::chrono::steady_clock::now();
      calls_ = Calls::kGoOn;
    }
    if (auto* mark = std::get_if<trace::Mark>(&record.body)) {
      watched.analysis->Settle(record.seq_before);
      watched.answers->Answer(*watched.analysis, mark->token);
    }
    if (watched.found || !options_.on_first_hazard || !watched.analysis->hazards()) return;
    watched.found = true;
    options_.on_first_hazard();
  };
  auto on_end = [&watched](const trace::ProcessEnding& ending, uint64_t late, uint64_t malformed) {
    watched.ending = ending;
    watched.late = late;
    watched.malformed = malformed;
  };
  sinks.push_back(std::make_unique<trace::LiveSink>(on_record, on_end));
  if (options_.on_stall) sinks.push_back(std::make_unique<TickSink>([this] { LookForStall(); }));
}

void Watch::AddGaps(const Watched& watched, Coverage& coverage) {
  std::string who = fmt::format("process {}", watched.info.pid);
  if (watched.ending.still_alive) {
    AddNote(coverage, who + " still runs: what it does from here on is not seen");
  }
  if (watched.ending.broken_rings || watched.malformed) {
    AddNote(coverage, fmt::format("{}: {} rings broken, {} records unreadable", who,
                                  watched.ending.broken_rings, watched.malformed));
  }
  if (watched.late) {
    AddNote(coverage,
            fmt::format("{}: {} records came too late for their place", who, watched.late));
  }
  if (!watched.trouble.empty())
    coverage.notes.push_back(who + ": no trace kept: " + watched.trouble);
}

// One minute for all of them, and less where the user does not want to wait.
Report Watch::Finish(const std::vector<std::string>& command, Symboliser& symbols) {
  const Interruption interruption;
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  WaitLimit limit{begin + ProcessAnalysis::kEndPatience};
  limit.given_up = [&] {
    if (!told && std::chrono::steady_clock::now() - begin > kQuietWait) {
      Tell(fmt::format(
          "streamsan: the program is over; its kernels are still being analysed, {} s at "
          "most (Ctrl-C: the report without them)\n",
          ProcessAnalysis::kEndPatience.count()));
      told = true;
    }
    return interruption.asked();
  };
  std::vector<Analysed> inputs;
  std::vector<const ProcessAnalysis*> analyses;
  for (const auto& watched : watched_) {
    if (!watched->analysis) continue;
    Analysed analysed = watched->analysis->Finish(&limit);
    AddGaps(*watched, analysed.report.coverage);
    inputs.push_back(std::move(analysed));
    analyses.push_back(watched->analysis.get());
  }
  if (!inputs.empty()) {
    const JoinOptions options{
        .collectives = {.stalled = calls_ == Calls::kStalled},
        .engine = options_.engine,
        .whole_of = [&](size_t position, Analysed&) { return analyses[position]; }};
    return Join(std::move(inputs), options, symbols);
  }
  Report report;
  for (const std::string& word : command)
    report.program += (report.program.empty() ? "" : " ") + word;
  AddNote(report.coverage, kNobody);
  return report;
}

// Once when it has become quiet, for what is certain already, and once when what is missing is
// surely not on its way.
void Watch::LookForStall() {
  if (calls_ == Calls::kNone || calls_ == Calls::kStalled) return;
  const auto still = std::chrono::steady_clock::now() - last_call_;
  const bool stalled = still >= options_.stalled_after;
  if (!stalled && (calls_ == Calls::kQuiet || still < kQuiet)) return;
  calls_ = stalled ? Calls::kStalled : Calls::kQuiet;
  Symboliser symbols;
  Report report = RanksSoFar(symbols);
  bool news = false;
  for (const Finding& finding : report.findings) {
    news |= told_.insert(finding.code + finding.buffer.name + Name(finding.confidence)).second;
  }
  if (news) options_.on_stall(report, symbols);
  if (options_.on_first_hazard && !report.findings.empty()) options_.on_first_hazard();
}

Report Watch::RanksSoFar(Symboliser& symbols) {
  std::vector<Analysed> inputs;
  for (const auto& watched : watched_) {
    if (watched->analysis) inputs.push_back(watched->analysis->RankSoFar());
  }
  return Join(std::move(inputs), {.collectives = {.stalled = calls_ == Calls::kStalled}}, symbols);
}

bool Watch::kept_all() const {
  for (const auto& watched : watched_) {
    if (!watched->trouble.empty()) return false;
    if (watched->writer && watched->writer->error()) return false;
  }
  return true;
}

std::vector<std::string> Watch::TraceLines() const {
  std::vector<std::string> lines;
  for (const auto& watched : watched_) {
    if (!watched->writer) {
      if (!watched->trouble.empty()) lines.push_back("no trace kept: " + watched->trouble);
      continue;
    }
    const trace::TraceWriter::Stats& stats = watched->writer->stats();
    std::string line = fmt::format("{} records of process {} in {}", stats.records - stats.lost,
                                   watched->info.pid, watched->writer->file().path());
    if (stats.evicted) line += fmt::format("; the oldest {} went for max_trace_mb", stats.evicted);
    if (stats.lost) line += fmt::format("; {} LOST", stats.lost);
    if (watched->writer->error()) line += ": " + watched->writer->error()->Text();
    lines.push_back(line);
  }
  return lines;
}

}  // namespace ss
