// reference_check N: does the engine say what the brute-force reference says about N random
// programs? A program on which they differ is shrunk and printed with both answers.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "src/explain/analyse.h"
#include "src/model/graphs.h"
#include "tests/random/compare.h"
#include "tests/random/options.h"
#include "tests/random/planted.h"
#include "tests/random/program_source.h"
#include "tests/random/shrink.h"
#include "tests/random/statistics.h"
#include "tests/reference/unroll.h"

namespace ss::random {
namespace {

constexpr uint64_t kEnoughForShares = 1000;

// What the engine judges: graphs unfolded its own way.
std::vector<Op> Unfolded(const Program& program) {
  std::vector<Op> ops;
  GraphExpander graphs(program.strings, program.graph_names);
  for (const Op& op : program.ops) {
    graphs.Feed(op, program.accesses.data() + op.access_begin,
                [&](const Op& made, const Access*) { ops.push_back(made); });
  }
  return ops;
}

Answer EngineAnswer(const Program& program) {
  AnalyseOptions options;
  options.verify = false;
  const Report report = AnalyseProgram(program, options);
  return AnswerOf(reference::HasGraphs(program) ? Unfolded(program) : program.ops, report);
}

// The reference's own way.
reference::Verdict ReferenceVerdict(Program* flat) {
  if (reference::HasGraphs(*flat)) reference::UnrollGraphs(flat);
  return reference::Judge(*flat);
}

class Checker {
 public:
  explicit Checker(Options options) : options_(std::move(options)) {}

  int Run() {
    if (options_.print) return Print(ProgramOf(options_.seed));
    if (!options_.file.empty()) return CheckFile();
    for (uint64_t i = 0; i < options_.programs; ++i) {
      Check(options_.seed + i);
      if (options_.expect_flip && differing_ > 0) break;
      if (differing_ >= options_.stop_after) break;
    }
    return Conclude();
  }

 private:
  // Where there are graphs, hazards alone: the waits of the two ways are not the same ones.
  std::vector<std::string> Compare(const Lines& lines,
                                   reference::Verdict* verdict = nullptr) const {
    const auto program = Parse(lines);
    const auto flat = Parse(lines);
    const reference::Verdict judged = ReferenceVerdict(flat.get());
    Answer mine = AnswerOf(*flat, judged);
    Answer engine = EngineAnswer(*program);
    // What is behind waits that never end has no order to agree on; that they do not, has to be
    // told.
    if (!judged.settled && !engine.tells_of_hang) return {"the engine does not tell that it hangs"};
    if (!options_.advice || reference::HasGraphs(*program))
      mine.advice.clear(), engine.advice.clear();
    if (verdict != nullptr) *verdict = judged;
    if (!judged.settled) return {};
    return Differences(engine, "engine", mine, "reference");
  }

  bool Differs(const Lines& lines) const {
    return Parse(lines) != nullptr && !Compare(lines).empty();
  }

  void Check(uint64_t seed) {
    const Lines lines = ProgramOf(seed);
    std::string error;
    const auto program = Parse(lines, &error);
    if (!program) {
      ++invalid_;
      fmt::print("seed {}: the generator wrote what the parser refuses: {}\n", seed, error);
      return;
    }
    reference::Verdict verdict;
    const auto differences = Compare(lines, &verdict);
    statistics_.Add(lines.size(), verdict);
    if (differences.empty()) return;
    ++differing_;
    if (options_.list) return List(seed, differences);
    if (!options_.expect_flip) Show(seed, lines);
  }

  static void List(uint64_t seed, const std::vector<std::string>& differences) {
    fmt::print("seed {}:", seed);
    for (const std::string& text : differences) fmt::print(" {};", text);
    fmt::print("\n");
  }

  void Show(uint64_t seed, const Lines& lines) {
    const Lines least = Shrink(lines, [&](const Lines& fewer) { return Differs(fewer); });
    fmt::print("--- seed {} differs; least program that shows it:\n", seed);
    Print(least);
    if (options_.dump.empty()) return;
    std::filesystem::create_directories(options_.dump);
    std::ofstream(fmt::format("{}/seed{}.litmus", options_.dump, seed)) << Join(least);
  }

  int Print(const Lines& lines) const {
    const auto flat = Parse(lines);
    if (!flat) return 2;
    for (size_t i = 0; i < lines.size(); ++i) fmt::print("{:4}  {}\n", i + 1, lines[i]);
    const reference::Verdict verdict = ReferenceVerdict(flat.get());
    const Answer answer = AnswerOf(*flat, verdict);
    for (const std::string& text : answer.hazards) fmt::print("  reference: {}\n", text);
    for (const std::string& text : answer.advice) fmt::print("  reference: {}\n", text);
    for (const std::string& text : Compare(lines)) fmt::print("  {}\n", text);
    std::cout << std::endl;
    return 0;
  }

  int CheckFile() const {
    std::ifstream in(options_.file);
    if (!in) {
      std::cerr << options_.file << ": cannot be read\n";
      return 2;
    }
    Lines lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    const int rc = Print(lines);
    return rc != 0 ? rc : Differs(lines) ? 1 : 0;
  }

  int Conclude() const {
    if (options_.expect_flip) {
      std::cout << (differing_ ? "a program differs: the planted bug is seen\n"
                               : "NO program differs: the planted bug goes unseen\n");
      return differing_ ? 0 : 1;
    }
    const bool shares = statistics_.Print() || options_.programs < kEnoughForShares;
    fmt::print("{} differ, {} not valid\n", differing_, invalid_);
    return differing_ == 0 && invalid_ == 0 && shares ? 0 : 1;
  }

  Options options_;
  Statistics statistics_;
  uint64_t differing_ = 0, invalid_ = 0;
};

}  // namespace
}  // namespace ss::random

int main(int argc, char** argv) {
  const ss::random::Options options = ss::random::ParseOptions(argc, argv);
  const auto check = [](const ss::random::Options& o) { return ss::random::Checker(o).Run(); };
  return options.every_rule ? ss::random::CheckEveryRule(options, check) : check(options);
}
