// ablation_oracle [--least PERCENT] [--waits N] TRACE...: every wait of recorded programs that the
// oracle holds to be load-bearing, and whether `streamsan ablate` says so. At most N waits of a
// trace are tried (default 400), spread evenly. Exit code 1: fewer than PERCENT are reported.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "src/kernels/registry.h"
#include "src/trace/reader.h"
#include "tests/ablation/oracle.h"

namespace ss {
namespace {

constexpr size_t kMostOperations = 12'000;  // the closure's memory grows with the square

class Imported : private ImportSink {
 public:
  static Result<Imported> From(const std::string& path) {
    Result<trace::TraceReader> reader = trace::TraceReader::Open(path);
    if (!reader) return tl::unexpected(reader.error());
    Imported out;
    out.program.recorded = true;
    kernels::Registry kernels(kernels::Cache::Default(), kernels::Disassembler::Find());
    Importer importer(out.program.strings, {.kernels = &kernels});
    for (;;) {
      Result<std::optional<trace::Record>> record = reader->Next();
      if (!record) return tl::unexpected(record.error());
      if (!*record) break;
      kernels.Feed(**record);
      if (const auto* entry = importer.WaitsFor(**record))
        kernels.Wait(*entry, std::chrono::hours(1));
      importer.Feed(**record, out);
    }
    importer.Finish(out);
    out.coverage = importer.coverage();
    return out;
  }

  Program program;
  Coverage coverage;

 private:
  void OnOp(const Op& op, std::span<const Access> accesses) override {
    program.ops.push_back(op);
    program.ops.back().access_begin = static_cast<uint32_t>(program.accesses.size());
    program.accesses.insert(program.accesses.end(), accesses.begin(), accesses.end());
  }
};

// What the reference has no notion of: libraries' own memory, tenancies that nobody ended.
Program ForReference(const Program& recorded) {
  Program program;
  program.recorded = true;
  program.strict = recorded.strict;
  for (StringId id = 1; id < recorded.strings.size(); ++id)
    program.strings.Intern(recorded.strings.Get(id));
  program.ops = recorded.ops;
  program.accesses = recorded.accesses;
  for (Op& op : program.ops) {
    if ((op.flags & kImplicitEnd) != 0) op.flags |= kProcessExit;
    const bool memory = op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync;
    if (memory && (op.flags & kPrivate) != 0) op.kind = OpKind::kEventDestroy;
  }
  return program;
}

struct Counts {
  size_t waits = 0, tried = 0, bearing = 0, reported = 0, likely = 0, beyond = 0;
};

Confidence Highest(const Wait& wait) {
  Confidence highest = Confidence::kPossible;
  for (const Finding& finding : wait.hazards) highest = std::max(highest, finding.confidence);
  return highest;
}

void Compare(const Wait& wait, bool bearing, Counts& counts) {
  const bool reported = wait.verdict == WaitVerdict::kLoadBearing;
  ++counts.tried;
  counts.bearing += bearing;
  counts.reported += bearing && reported;
  counts.likely += bearing && reported && Highest(wait) >= Confidence::kLikely;
  counts.beyond += !bearing && reported;
  if (bearing != reported) {
    fmt::print("    op {}  {}: {}\n", wait.op, wait.text,
               bearing ? "load-bearing, NOT REPORTED" : "reported, not load-bearing by the oracle");
  }
}

bool Check(const std::string& path, size_t most, Counts& total) {
  Result<Imported> imported = Imported::From(path);
  if (!imported) {
    fmt::print("{}\n", imported.error().Text());
    return false;
  }
  Program& program = imported->program;
  const std::string name = std::filesystem::path(path).stem().string();
  AnalyseOptions analyse;
  analyse.verify = false;
  Analysis analysis(program, analyse);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  AblateOptions options;
  options.min_confidence = Confidence::kPossible;
  Result<Ablation> ablation = analysis.Ablate(options);
  if (!ablation || program.ops.size() > kMostOperations) {
    fmt::print("{:<28} {} operations: too many for the oracle\n", name, program.ops.size());
    return true;
  }
  Program plain = ForReference(program);
  Oracle oracle(plain);
  Counts counts;
  counts.waits = ablation->waits.size();
  std::vector<const Wait*> tried;
  size_t records = 0;
  for (const Wait& wait : ablation->waits) {
    const bool judged = wait.kind != OpKind::kRecordStream;  // its meaning: rules 18 and 19
    if (judged && wait.verdict != WaitVerdict::kNotTried) tried.push_back(&wait);
    records += !judged;
  }
  const size_t take = std::min(tried.size(), most);
  const Tape tape{&program, &program.ops, &program.accesses, false};
  for (size_t k = 0; k < take; ++k) {
    const Wait& wait = *tried[k * tried.size() / take];
    const auto removed = WithoutWait(tape, wait.index).removals;
    Compare(wait, oracle.LoadBearing({removed.begin(), removed.end()}), counts);
  }
  fmt::print(
      "{:<28} {:>6} ops {:>5}/{} launches  {:>4} waits {:>4} tried  {:>4} load-bearing {:>4} "
      "reported ({} likely)  {} beyond  {} hazards before",
      name, program.ops.size(), imported->coverage.launches_resolved, imported->coverage.launches,
      counts.waits, counts.tried, counts.bearing, counts.reported, counts.likely, counts.beyond,
      ablation->hazards);
  if (oracle.unjudged_frees() + records != 0) {
    fmt::print("  not judged: {} record_stream, {} frees", records, oracle.unjudged_frees());
  }
  fmt::print("\n");
  total.waits += counts.waits;
  total.tried += counts.tried;
  total.bearing += counts.bearing;
  total.reported += counts.reported;
  total.likely += counts.likely;
  total.beyond += counts.beyond;
  return true;
}

}  // namespace
}  // namespace ss

int main(int argc, char** argv) {
  double least = 0;
  size_t most = 400;
  ss::Counts total;
  bool read = true;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--least") && i + 1 < argc) {
      least = std::atof(argv[++i]);
    } else if (!std::strcmp(argv[i], "--waits") && i + 1 < argc) {
      most = std::strtoul(argv[++i], nullptr, 10);
    } else {
      read &= ss::Check(argv[i], most, total);
      std::fflush(stdout);
    }
  }
  const double percent = total.bearing ? 100.0 * total.reported / total.bearing : 0;
  fmt::print(
      "{} waits, {} tried, {} load-bearing, {} of them reported ({:.1f}%; {} at least likely), {} "
      "reported beyond\n",
      total.waits, total.tried, total.bearing, total.reported, percent, total.likely, total.beyond);
  return read && percent >= least ? 0 : 1;
}
