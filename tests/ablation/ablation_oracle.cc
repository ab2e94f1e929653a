// ablation_oracle [--peel] [--least PERCENT] [--waits N] TRACE...: every wait of recorded programs
// that the oracle holds to be load-bearing, and whether `streamsan ablate` says so. At most N waits
// of a trace are tried (default 400), spread evenly. Exit code 1: fewer than PERCENT are reported.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/explain/analyse.h"
#include "src/import/importer.h"
#include "src/kernels/registry.h"
#include "src/trace/reader.h"
#include "tests/ablation/oracle.h"
#include "tests/reference/unroll.h"

namespace ss {
namespace {

constexpr size_t kMostOperations = 30'000;  // the closure's memory grows with the square

class Imported : private ImportSink {
 public:
  static Result<Imported> From(const std::string& path) {
    Result<trace::TraceReader> reader = trace::TraceReader::Open(path);
    if (!reader) return tl::unexpected(reader.error());
    Imported out;
    out.program.recorded = true;
    kernels::Registry kernels(kernels::Cache::Default(), kernels::Disassembler::Find());
    Importer importer(out.program, {.kernels = &kernels});
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

bool Orders(const Op& op) {
  switch (op.kind) {
    case OpKind::kEventRecord:
    case OpKind::kStreamWaitEvent:
    case OpKind::kStreamSync:
    case OpKind::kEventSync:
    case OpKind::kDeviceSync:
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
    case OpKind::kSyncEnd:
      return (op.flags & kSynthetic) == 0;
    default:
      return false;
  }
}

using Places = std::map<std::pair<OpId, OpKind>, size_t>;

// An operation's position differs from program to program: the engine leaves some out, and where
// graphs are unrolled there are more.
Places PlacesOf(const std::vector<Op>& ops) {
  Places places;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (Orders(ops[i])) places[{ops[i].id, ops[i].kind}] = i;
  }
  return places;
}

// A program as the oracle judges it: each launch of a graph is the captured work once more.
class Unrolled {
 public:
  explicit Unrolled(const Program& recorded) : program(ForReference(recorded)) {
    if (reference::HasGraphs(program)) reference::UnrollGraphs(&program);
    places_ = PlacesOf(program.ops);
  }

  // Where operations of the recorded program are now; none of what was captured.
  std::vector<size_t> InUnrolled(const Program& recorded, const std::set<size_t>& at) const {
    std::vector<size_t> places;
    for (size_t i : at) {
      auto found = places_.find({recorded.ops[i].id, recorded.ops[i].kind});
      if (found != places_.end()) places.push_back(found->second);
    }
    return places;
  }

  Program program;

 private:
  Places places_;
};

struct Counts {
  size_t waits = 0, tried = 0, bearing = 0, reported = 0, likely = 0, beyond = 0;
  size_t unjudged_frees = 0;

  void Add(const Counts& more) {
    waits += more.waits;
    tried += more.tried;
    bearing += more.bearing;
    reported += more.reported;
    likely += more.likely;
    beyond += more.beyond;
  }
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

struct Asked {
  size_t most = 400;  // waits of a trace
  bool peel = false;
};

// Positions of redundant waits that can go together.
std::set<size_t> Redundant(const Program& program, const Tape& tape) {
  Unrolled plain(program);
  Oracle oracle(plain.program);
  std::set<size_t> gone;
  for (const Wait& wait : FindWaits(tape)) {
    if (wait.kind == OpKind::kRecordStream) continue;
    std::set<size_t> with = WithoutWait(tape, wait.index).removals;
    with.insert(gone.begin(), gone.end());
    if (!oracle.LoadBearing(plain.InUnrolled(program, with))) gone = std::move(with);
  }
  return gone;
}

void Peel(Program& program) {
  const std::set<size_t> gone = Redundant(program, {&program, &program.ops, &program.accesses});
  std::vector<Op> rest;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    if (!gone.contains(i)) rest.push_back(program.ops[i]);
  }
  program.ops = std::move(rest);
}

Ablation ByEngine(const Program& program) {
  AnalyseOptions analyse;
  analyse.verify = false;
  Analysis analysis(program, analyse);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  AblateOptions options;
  options.min_confidence = Confidence::kPossible;
  return analysis.Ablate(options).value_or(Ablation{});
}

// Not record_stream, whose meaning is rules 18 and 19.
std::vector<const Wait*> Judged(const Ablation& ablation) {
  std::vector<const Wait*> judged;
  for (const Wait& wait : ablation.waits) {
    const bool tried = wait.verdict != WaitVerdict::kNotTried;
    if (tried && wait.kind != OpKind::kRecordStream) judged.push_back(&wait);
  }
  return judged;
}

Counts Judge(const Program& program, const Ablation& ablation, size_t most) {
  Unrolled plain(program);
  Oracle oracle(plain.program);
  Counts counts;
  counts.waits = ablation.waits.size();
  const std::vector<const Wait*> judged = Judged(ablation);
  const size_t take = std::min(judged.size(), most);
  const Tape tape{&program, &program.ops, &program.accesses};
  const Places places = PlacesOf(program.ops);
  for (size_t k = 0; k < take; ++k) {
    const Wait& wait = *judged[k * judged.size() / take];
    auto place = places.find({wait.op, wait.kind});
    if (place == places.end()) continue;
    const std::set<size_t> without = WithoutWait(tape, place->second).removals;
    const std::vector<size_t> removed = plain.InUnrolled(program, without);
    if (!removed.empty()) Compare(wait, oracle.LoadBearing(removed), counts);
  }
  counts.unjudged_frees = oracle.unjudged_frees();
  return counts;
}

bool Check(const std::string& path, const Asked& asked, Counts& total) {
  Result<Imported> imported = Imported::From(path);
  if (!imported) {
    fmt::print("{}\n", imported.error().Text());
    return false;
  }
  Program& program = imported->program;
  const std::string name = std::filesystem::path(path).stem().string();
  if (program.ops.size() > kMostOperations) {
    fmt::print("{:<28} {} operations: too many for the oracle\n", name, program.ops.size());
    return true;
  }
  if (asked.peel) Peel(program);
  const Ablation ablation = ByEngine(program);
  const Counts counts = Judge(program, ablation, asked.most);
  const Coverage& coverage = imported->coverage;
  fmt::print(
      "{:<28} {:>6} ops {:>5}/{} launches  {:>4} waits {:>4} tried  {:>4} load-bearing {:>4} "
      "reported ({} likely)  {} beyond  {} hazards before  {} frees not judged\n",
      name, program.ops.size(), coverage.launches_resolved, coverage.launches, counts.waits,
      counts.tried, counts.bearing, counts.reported, counts.likely, counts.beyond, ablation.hazards,
      counts.unjudged_frees);
  total.Add(counts);
  return true;
}

}  // namespace
}  // namespace ss

int main(int argc, char** argv) {
  double least = 0;
  ss::Asked asked;
  ss::Counts total;
  bool read = true;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--least") && i + 1 < argc) {
      least = std::atof(argv[++i]);
    } else if (!std::strcmp(argv[i], "--waits") && i + 1 < argc) {
      asked.most = std::strtoul(argv[++i], nullptr, 10);
    } else if (!std::strcmp(argv[i], "--peel")) {
      asked.peel = true;
    } else {
      read &= ss::Check(argv[i], asked, total);
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
