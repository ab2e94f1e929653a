// reference_check N: does the engine say what the brute-force reference says about N random
// programs? A program on which they differ is shrunk and printed with both answers.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "src/explain/analyse.h"
#include "tests/random/compare.h"
#include "tests/random/options.h"
#include "tests/random/planted.h"
#include "tests/random/program_source.h"
#include "tests/random/shrink.h"
#include "tests/random/statistics.h"

namespace ss::random {
namespace {

constexpr uint64_t kEnoughForShares = 1000;

Answer EngineAnswer(const Program& program) {
  AnalyseOptions options;
  options.verify = false;
  return AnswerOf(program, AnalyseProgram(program, options));
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
  std::vector<std::string> Compare(const Program& program,
                                   const reference::Verdict& verdict) const {
    Answer mine = AnswerOf(program, verdict);
    Answer engine = EngineAnswer(program);
    if (!options_.advice) mine.advice.clear(), engine.advice.clear();
    return Differences(engine, "engine", mine, "reference");
  }

  bool Differs(const Lines& lines) const {
    const auto program = Parse(lines);
    return program && !Compare(*program, reference::Judge(*program)).empty();
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
    const auto verdict = reference::Judge(*program);
    statistics_.Add(lines.size(), verdict);
    const auto differences = Compare(*program, verdict);
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
    const auto program = Parse(lines);
    if (!program) return 2;
    for (size_t i = 0; i < lines.size(); ++i) fmt::print("{:4}  {}\n", i + 1, lines[i]);
    const auto verdict = reference::Judge(*program);
    const Answer answer = AnswerOf(*program, verdict);
    for (const std::string& text : answer.hazards) fmt::print("  reference: {}\n", text);
    for (const std::string& text : answer.advice) fmt::print("  reference: {}\n", text);
    for (const std::string& text : Compare(*program, verdict)) fmt::print("  {}\n", text);
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
