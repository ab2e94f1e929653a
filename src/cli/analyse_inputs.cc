#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "src/base/file.h"
#include "src/cli/inputs.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/litmus/litmus.h"

namespace ss {
namespace {

// What a litmus file says is all that there is: its coverage is what the engine models of it.
void SetLitmusCoverage(Report& report, const LitmusFile& file) {
  Coverage& coverage = report.coverage;
  coverage.calls = coverage.calls_modelled = file.program.ops.size();
  for (const LitmusFile::Need& need : file.needs) {
    if (ModelledLaterRules().count(need.rule)) continue;
    coverage.complete = false;
    coverage.unmodelled.push_back(
        {"rule " + std::to_string(need.rule) + " (" + need.what + ")", 1});
  }
}

using Then = std::function<void(const Analysis&)>;

Result<Report> AnalyseLitmus(const std::string& path, const AnalyseOptions& options,
                             const Then& then) {
  Result<std::string> text = ReadText(path);
  if (!text) return tl::unexpected(text.error());
  Result<LitmusFile> file = ParseLitmus(*text, path);
  if (!file) return tl::unexpected(file.error());
  const Program& program = file->program;
  Analysis analysis(program, options, program.ops.size() * 64);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  Report report = analysis.Finish();
  if (then) then(analysis);
  SetLitmusCoverage(report, *file);
  return report;
}

Result<Analysed> AnalyseOne(const std::string& path, const AnalyseOptions& engine,
                            const Then& then) {
  if (HasSuffix(path, ".pipe"))
    return Fail(path, "is a protocol inside a kernel", "see streamsan pipeline check");
  if (!HasSuffix(path, ".litmus")) {
    Result<Analysed> analysed = AnalyseTraceFile(path, engine, then);
    if (analysed && !then) KeepReferenced(*analysed);
    return analysed;
  }
  Result<Report> report = AnalyseLitmus(path, engine, then);
  if (!report) return tl::unexpected(report.error());
  return Analysed{std::move(*report), {}, {}};
}

Part MakePart(uint64_t index, const std::string& path, const AnalyseOptions& engine,
              const Then& then) {
  Part part;
  part.index = index;
  Result<Analysed> analysed = AnalyseOne(path, engine, then);
  part.failed = !analysed;
  if (analysed) {
    part.analysed = std::move(*analysed);
  } else {
    part.error = std::move(analysed.error());
  }
  return part;
}

std::vector<Part> OneByOne(const std::vector<std::string>& files, const AnalyseOptions& engine,
                           const ThenAnalysis& then) {
  std::vector<Part> parts;
  StackId offset = 0;
  for (const std::string& file : files) {
    parts.push_back(MakePart(parts.size(), file, engine,
                             [&](const Analysis& analysis) { then(analysis, offset); }));
    offset += HighestStack(parts.back().analysed.stacks);
  }
  return parts;
}

}  // namespace

std::vector<Part> AnalyseShare(const std::vector<std::string>& files, const AnalyseOptions& engine,
                               Share share, const ThenAnalysis& then) {
  if (then) return OneByOne(files, engine, then);
  std::vector<Part> parts(share.SizeOf(files.size()));
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < parts.size();) {
      const size_t index = share.number + i * share.of;
      parts[i] = MakePart(index, files[index], engine, {});
    }
  };
  const size_t processors = std::thread::hardware_concurrency() / share.of;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(processors, parts.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return parts;
}

Result<Report> JoinParts(std::vector<Part> parts, const std::vector<std::string>& files,
                         const AnalyseOptions& engine, Symboliser& symbols,
                         std::vector<Error>* unreadable,
                         const std::function<void(const Analysis&)>& then) {
  std::vector<Analysed> inputs;
  std::vector<std::string> places;  // of the inputs
  for (Part& part : parts) {
    if (!part.failed) {
      inputs.push_back(std::move(part.analysed));
      places.push_back(files[part.index]);
    } else if (unreadable) {
      unreadable->push_back(std::move(part.error));
    } else {
      return tl::unexpected(std::move(part.error));
    }
  }
  if (inputs.empty()) {
    Error last = std::move(unreadable->back());
    unreadable->pop_back();
    return tl::unexpected(std::move(last));
  }
  std::vector<std::unique_ptr<ProcessAnalysis>> again;
  const WholeOf whole_of = [&](size_t position, Analysed& analysed) -> const ProcessAnalysis* {
    again.push_back(std::make_unique<ProcessAnalysis>(engine, Pace::kFinished));
    Result<Analysed> whole = AnalyseTraceFile(places[position], *again.back());
    if (!whole) return nullptr;
    analysed = std::move(*whole);
    return again.back().get();
  };
  Report report =
      Join(std::move(inputs), {.engine = engine, .whole_of = whole_of, .then = then}, symbols);
  if (!unreadable) return report;
  for (const Error& error : *unreadable) {
    report.coverage.complete = false;
    report.coverage.notes.push_back("not analysed: " + error.Text());
  }
  return report;
}

namespace {

AnalyseOptions EngineFor(const CheckCommandOptions& options) {
  AnalyseOptions engine = EngineOptions(options.report);
  engine.verify = options.verify;
  return engine;
}

}  // namespace

Result<Report> AnalyseInputs(const CheckCommandOptions& options, Symboliser& symbols,
                             const ThenAnalysis& then) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".sst"});
  if (!files) return tl::unexpected(files.error());
  const AnalyseOptions engine = EngineFor(options);
  return JoinParts(AnalyseShare(*files, engine, {}, then), *files, engine, symbols);
}

Result<Report> AnalyseProgram(const CheckCommandOptions& options, Symboliser& symbols,
                              const std::function<void(const Analysis&)>& then) {
  Result<std::vector<std::string>> files = FindInputs(options.paths, {".sst"});
  if (!files) return tl::unexpected(files.error());
  const AnalyseOptions engine = EngineFor(options);
  bool one = false;
  auto once = [&](const Analysis& analysis) {
    one = true;
    then(analysis);
  };
  std::vector<Part> parts;
  if (files->size() == 1) {
    parts = AnalyseShare(*files, engine, {}, [&](const Analysis& its, StackId) { once(its); });
  } else {
    parts = AnalyseShare(*files, engine, {});
  }
  Result<Report> report = JoinParts(std::move(parts), *files, engine, symbols, nullptr, once);
  if (!report || one) return report;
  return Fail(options.paths.front(), "holds traces of several programs",
              "name one of them, or a folder of processes that share memory and can be judged "
              "together (streamsan check says whether they can)");
}

}  // namespace ss
