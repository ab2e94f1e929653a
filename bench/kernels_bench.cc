// The static analysis on the committed disassembly: parsing the text and following the values.
//   kernels_bench [--peer COMMAND]
// COMMAND is run as `COMMAND CUBIN SASS` on the same cubin and the same text, and has to print a
// last line `seconds S`: its own time for parsing and analysing them. Without it no ratio is
// printed.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing.h"
#include "src/kernels/analyse.h"
#include "tests/kernels/fixture.h"

namespace ss::kernels {
namespace {

constexpr int kRounds = 20, kPeerRounds = 3;
struct Input {
  const char* set;
  int arch;
};
constexpr Input kInputs[] = {{"basic", 80},   {"basic", 90}, {"basic", 100}, {"more", 80},
                             {"more", 90},    {"more", 100}, {"basicg", 80}, {"basicg", 90},
                             {"basicg", 100}, {"tma", 90},   {"tma", 100}};

struct Measured {
  size_t kernels = 0;
  size_t instructions = 0;
  double parse = 0, analyse = 0;  // seconds, the fastest round
};

Measured Measure(const Fixture& fixture) {
  Measured best;
  for (int round = 0; round < kRounds; ++round) {
    double start = bench::ThreadSeconds();
    Result<Code> code = ParseElfText(fixture.text, fixture.name);
    double parsed = bench::ThreadSeconds();
    if (!code) break;
    Analyser analyser(fixture.cubin, *code);
    size_t kernels = analyser.All().size();
    double done = bench::ThreadSeconds();
    best.parse = round ? std::min(best.parse, parsed - start) : parsed - start;
    best.analyse = round ? std::min(best.analyse, done - parsed) : done - parsed;
    best.kernels = kernels;
    best.instructions = code->instructions.size();
  }
  return best;
}

std::optional<double> RunPeer(const std::string& command, const Fixture& fixture) {
  char directory[] = "/tmp/kernels_bench.XXXXXX";
  if (!mkdtemp(directory)) return std::nullopt;
  std::string cubin = fmt::format("{}/{}.cubin", directory, fixture.name);
  std::string sass = fmt::format("{}/{}.sass", directory, fixture.name);
  std::ofstream(cubin, std::ios::binary) << fixture.image;
  std::ofstream(sass, std::ios::binary) << *fixture.text;
  std::optional<double> seconds;  // the fastest round, as ours
  for (int round = 0; round < kPeerRounds; ++round) {
    FILE* pipe = popen(fmt::format("{} {} {}", command, cubin, sass).c_str(), "r");
    if (!pipe) break;
    char line[4096];
    double value = 0;
    while (fgets(line, sizeof line, pipe)) {
      if (sscanf(line, "seconds %lf", &value) == 1)
        seconds = std::min(value, seconds.value_or(value));
    }
    pclose(pipe);
  }
  remove(cubin.c_str());
  remove(sass.c_str());
  remove(directory);
  return seconds;
}

int Run(const std::string& peer) {
  double ours = 0, theirs = 0;
  for (const Input& input : kInputs) {
    auto fixture = LoadFixture(input.set, input.arch);
    Measured one = Measure(*fixture);
    fmt::print("{:<13} {:3} kernels {:6} instructions  parse {:6.2f} ms  analyse {:6.2f} ms",
               fixture->name, one.kernels, one.instructions, 1e3 * one.parse, 1e3 * one.analyse);
    if (!peer.empty()) {
      std::optional<double> seconds = RunPeer(peer, *fixture);
      if (!seconds) {
        fmt::print("\n{}: no line `seconds S` from it\n", peer);
        return 2;
      }
      ours += one.parse + one.analyse;
      theirs += *seconds;
      fmt::print("  peer {:8.1f} ms  {:5.1f}x", 1e3 * *seconds,
                 *seconds / (one.parse + one.analyse));
    }
    fmt::print("\n");
  }
  if (!peer.empty()) fmt::print("RATIO kernels_analysis_over_peer {:.1f}\n", theirs / ours);
  return 0;
}

}  // namespace
}  // namespace ss::kernels

int main(int argc, char** argv) {
  bool with_peer = argc == 3 && std::string(argv[1]) == "--peer";
  if (argc != 1 && !with_peer) {
    fmt::print(stderr, "usage: kernels_bench [--peer COMMAND]\n");
    return 2;
  }
  return ss::kernels::Run(with_peer ? argv[2] : "");
}
