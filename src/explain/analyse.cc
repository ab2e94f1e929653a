#include "src/explain/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "src/explain/cause.h"
#include "src/explain/picture.h"
#include "src/explain/replay.h"
#include "src/explain/verify.h"
#include "src/explain/window.h"
#include "src/model/graphs.h"

namespace ss {
namespace {

void AddHandovers(const Tape& tape, CheckOptions check, CheckResult* result) {
  check.strict = true;
  CheckResult strict = Replay(tape, check, {});
  std::set<std::string> known = ReportedKeys(*result);
  for (size_t i = 0; i < strict.findings.size(); ++i) {
    Finding& finding = strict.findings[i];
    if (finding.absorbed || known.contains(strict.keys[i])) continue;
    finding.confidence = Confidence::kPossible;
    finding.handover_only = true;
    result->findings.push_back(std::move(finding));
    result->keys.push_back(strict.keys[i]);
  }
}

void SortFindings(CheckResult* result) {
  std::vector<size_t> order(result->findings.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  auto last = [&](size_t i) {
    const Finding& f = result->findings[i];
    return std::max(f.first.op, f.second.op);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return last(a) < last(b); });
  std::vector<Finding> findings;
  std::vector<std::string> keys;
  for (size_t i : order) {
    findings.push_back(std::move(result->findings[i]));
    keys.push_back(std::move(result->keys[i]));
  }
  result->findings = std::move(findings);
  result->keys = std::move(keys);
}

Report Explain(const Tape& tape, const CheckOptions& check, const AnalyseOptions& options,
               CheckResult result) {
  Report report;
  if (options.handovers && !check.strict) AddHandovers(tape, check, &result);
  SortFindings(&result);
  Verifier verifier(tape, check, result, options.max_replayed);
  const LaneNames names(tape);
  for (size_t i = 0; i < result.findings.size(); ++i) {
    Finding& finding = result.findings[i];
    if (finding.absorbed) continue;
    ExplainCause(&finding, tape, names);
    FillWindow(&finding, tape, names);
    if (options.verify && !finding.handover_only) verifier.AddFixes(&finding, result.keys[i]);
  }
  if (verifier.skipped() != 0) {
    report.coverage.notes.push_back(fmt::format(
        "{} candidate fixes were not verified, and so not printed: the program is too long",
        verifier.skipped()));
  }
  if (result.unsettled) {
    report.coverage.complete = false;
    report.coverage.notes.push_back(
        "the order through signals and collectives was not followed to its end");
  }
  if (result.untracked_bytes_accesses != 0) {
    report.coverage.notes.push_back(
        fmt::format("accesses that reach into memory that nobody allocated: {}",
                    result.untracked_bytes_accesses));
  }
  if (result.beginnings != 0) {
    report.coverage.notes.push_back(
        fmt::format("accesses of unknown extent, compared at the byte where they begin: {} "
                    "(--min-confidence possible: to the ends of their blocks)",
                    result.beginnings));
  }
  if (result.forgotten != 0) {
    report.coverage.complete = false;
    report.coverage.notes.push_back(fmt::format(
        "accesses of one place, too many to keep apart: {} (for each of them an earlier "
        "one was not compared any more)",
        result.forgotten));
  }
  if (options.picture != 0) {
    report.pictures.push_back(
        std::make_shared<Picture>(MakePicture(tape, result.findings, options.picture)));
  }
  report.findings = std::move(result.findings);
  report.advice = std::move(result.advice);
  report.running = std::move(result.running);
  report.coverage.muted_private = result.muted_private;
  report.stats = result.stats;
  return report;
}

CheckOptions CheckOptionsFor(const Program& program, const AnalyseOptions& options) {
  CheckOptions check;
  check.strict = program.strict_stated ? program.strict : options.strict;
  check.recorded = program.recorded;
  check.keep_absorbed = options.keep_absorbed;
  check.beginnings_only = options.beginnings_only;
  return check;
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Report AnalyseProgram(const Program& program, const AnalyseOptions& options) {
  Analysis analysis(program, options, program.ops.size() * 64);
  for (const Op& op : program.ops) analysis.Feed(op, program.accesses.data() + op.access_begin);
  return analysis.Finish();
}

struct Analysis::State {
  State(const Program& names, const AnalyseOptions& options, size_t max_kept)
      : names(names),
        graphs(names.strings, names.graph_names),
        options(options),
        check(CheckOptionsFor(names, options)),
        max_kept(max_kept),
        checker(std::make_unique<Checker>(names, check)) {}

  // What graphs have become by the time it is checked.
  void Take(const Op& op, const Access* taken) {
    checker->Feed(op, taken);
    if (fed++ >= max_kept) return;
    signals |= op.kind == OpKind::kSignal || op.kind == OpKind::kAwait;
    if (op.kind == OpKind::kHostBegin) ranks[op.host] = op.aux;
    if (op.kind == OpKind::kCollective && !meet) {
      const uint32_t rank = ranks[op.host];
      meet = !names.recorded || members.try_emplace(op.object, rank).first->second != rank;
    }
    ops.push_back(op);
    ops.back().access_begin = static_cast<uint32_t>(accesses.size());
    accesses.insert(accesses.end(), taken, taken + op.access_count);
  }

  bool Crosses() const { return signals || meet; }

  bool Whole() const { return fed == ops.size(); }
  Result<void> MustBeWhole(const char* what) const;
  Tape Kept() const { return {&names, &ops, &accesses, Crosses()}; }

  const Program& names;
  GraphExpander graphs;
  AnalyseOptions options;
  CheckOptions check;
  size_t max_kept;
  std::unique_ptr<Checker> checker;
  std::vector<Op> ops;
  std::vector<Access> accesses;
  uint64_t fed = 0;
  OpId last_op = 0;
  bool signals = false;
  // A recorded communicator of one rank is its own half of it: nobody to meet or to wait for.
  bool meet = false;
  std::unordered_map<HostId, uint32_t> ranks;
  std::unordered_map<uint32_t, uint32_t> members;  // of communicators: the first rank
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

Analysis::Analysis(const Program& names, const AnalyseOptions& options, size_t max_kept)
    : state_(std::make_unique<State>(names, options, max_kept)) {}
Analysis::~Analysis() = default;

void Analysis::Feed(const Op& op, const Access* accesses) {
  State& s = *state_;
  s.last_op = op.id;
  s.graphs.Feed(op, accesses, [&s](const Op& made, const Access* taken) { s.Take(made, taken); });
}

void Analysis::FeedKept(const Op& op, const Access* accesses) {
  state_->last_op = op.id;
  state_->Take(op, accesses);
}

size_t Analysis::kept() const { return state_->ops.size(); }
bool Analysis::whole() const { return state_->Whole(); }
const std::vector<Op>& Analysis::kept_ops() const { return state_->ops; }
const std::vector<Access>& Analysis::kept_accesses() const { return state_->accesses; }

size_t Analysis::hazards() const { return state_->checker->hazards(); }

const std::vector<PlacedCollective>& Analysis::collectives() const {
  return state_->checker->collectives();
}
OpId Analysis::last_op() const { return state_->last_op; }
Site Analysis::SiteOf(const Op& op) const { return state_->checker->SiteOf(op); }

Report Analysis::SoFar() const {
  const State& s = *state_;
  Report report;
  if (s.Whole()) {
    Tape tape = s.Kept();
    report = Explain(tape, s.check, s.options, Replay(tape, s.check, {}));
  } else {
    report.coverage.notes.push_back("the program has become too long to be judged on the way");
  }
  report.running.clear();  // it goes on
  report.program = s.names.source;
  report.stats.seconds = Seconds(s.start);
  return report;
}

Report Analysis::Finish() {
  State& s = *state_;
  Report report;
  if (s.Whole()) {
    Tape tape = s.Kept();
    report = Explain(tape, s.check, s.options,
                     tape.crosses ? Replay(tape, s.check, {}) : s.checker->Finish());
  } else {
    CheckResult result = s.checker->Finish();
    report.findings = std::move(result.findings);
    report.advice = std::move(result.advice);
    report.running = std::move(result.running);
    report.coverage.muted_private = result.muted_private;
    report.stats = result.stats;
    report.coverage.notes.push_back(fmt::format(
        "the program has {} operations, more than the {} that are kept for explanations: causes "
        "and fixes are missing",
        s.fed, s.max_kept));
  }
  if (!s.names.recorded) report.running.clear();
  report.program = s.names.source;
  report.title = s.names.title;
  report.stats.seconds = Seconds(s.start);
  return report;
}

Result<void> Analysis::State::MustBeWhole(const char* what) const {
  if (Whole()) return {};
  return Fail(names.source,
              fmt::format("{} operations, more than the {} that are kept: too many to {}", fed,
                          max_kept, what),
              "record fewer steps of the program");
}

Result<Ablation> Analysis::Ablate(const AblateOptions& options) const {
  const State& s = *state_;
  Result<void> whole = s.MustBeWhole("take waits out");
  if (!whole) return tl::unexpected(whole.error());
  return ss::Ablate(s.Kept(), s.check, options);
}

Result<WhatIf> Analysis::Try(const std::vector<EdgeRequest>& edges, Confidence least) const {
  const State& s = *state_;
  Result<void> whole = s.MustBeWhole("be judged again");
  if (!whole) return tl::unexpected(whole.error());
  return TryEdges(s.Kept(), s.check, edges, least);
}

std::vector<Analysis::Place> Analysis::Places() const {
  std::vector<Place> places;
  places.reserve(state_->ops.size());
  for (const Op& op : state_->ops) places.push_back({op.kind, op.stack});
  return places;
}

std::vector<Wait> Analysis::Waits() const { return FindWaits(state_->Kept()); }

}  // namespace ss
