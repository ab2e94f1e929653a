// How many operations a second the engine judges on one core, and what memory it holds.
//
//   engine_bench                      the rate on both workloads; RATIO lines against the goal
//   engine_bench --memory [COUNT]     resident memory at 10^6, 10^7, ... COUNT operations (10^8)
//   engine_bench --write FILE COUNT   records operations for the other engines (--launches:
//   launches only) engine_bench --time FILE          the rate on recorded operations, `RATE value`
//   last
// --omit-waits leaves the waits out of the workload: the engine must find hazards then.

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "bench/operation_file.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "src/detect/checker.h"

namespace ss::bench {
namespace {

constexpr double kGoal = 3e6;  // operations a second with three ranges each
constexpr uint64_t kRecorded = 1'000'000;
constexpr int kRounds = 7;
constexpr int kRoundsOfFile = 3;  // the other side of a comparison repeats the whole

struct Arguments {
  std::string write, time;
  uint64_t count = 0;
  bool memory = false;
  WorkloadOptions workload;
};

struct Round {
  double rate = 0;  // operations a second
  size_t hazards = 0, advice = 0;
  Stats stats;
};

CheckOptions Recorded() {
  CheckOptions options;
  options.recorded = true;
  options.max_instances = 16;
  return options;
}

Round Judge(const Program& program) {
  Checker checker(program, Recorded());
  double start = ThreadSeconds();
  for (const Op& op : program.ops) checker.Feed(op, program.accesses.data() + op.access_begin);
  double seconds = ThreadSeconds() - start;
  CheckResult result = checker.Finish();
  return {static_cast<double>(program.ops.size()) / seconds, result.findings.size(),
          result.advice.size(), result.stats};
}

Program Record(const WorkloadOptions& options, uint64_t count) {
  Program program;
  Workload workload(options, &program);
  while (program.ops.size() < count) {
    const Access* accesses = nullptr;
    Op op = workload.Next(&accesses);
    op.access_begin = static_cast<uint32_t>(program.accesses.size());
    program.accesses.insert(program.accesses.end(), accesses, accesses + op.access_count);
    program.ops.push_back(op);
  }
  return program;
}

double MedianRate(const Program& program, const char* name) {
  std::vector<double> rates;
  Round last;
  for (int i = 0; i < kRounds; ++i) {
    last = Judge(program);
    rates.push_back(last.rate);
  }
  size_t kernels = 0;
  for (const Op& op : program.ops) kernels += op.kind == OpKind::kKernel;
  fmt::print("{}: {} operations, {:.0f}% kernels, {} accesses, {} lanes, {} hazards, {} advice\n",
             name, last.stats.operations,
             100.0 * static_cast<double>(kernels) / static_cast<double>(program.ops.size()),
             last.stats.accesses, last.stats.lanes, last.hazards, last.advice);
  double median = Median(rates);
  std::sort(rates.begin(), rates.end());
  fmt::print(
      "{}: median {:.2f}, lowest {:.2f}, highest {:.2f} million operations a second ({} rounds)\n",
      name, median / 1e6, rates.front() / 1e6, rates.back() / 1e6, kRounds);
  return median;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

void MeasureMemory(const Arguments& arguments) {
  Program names;
  Workload workload(arguments.workload, &names);
  Checker checker(names, Recorded());
  uint64_t at_first = 0, last = 0, next = 1'000'000;
  for (uint64_t fed = 1; fed <= arguments.count; ++fed) {
    const Access* accesses = nullptr;
    const Op& op = workload.Next(&accesses);
    checker.Feed(op, accesses);
    if (fed != next) continue;
    last = ResidentBytes();
    if (at_first == 0) at_first = last;
    fmt::print("{:>11} operations: {:.1f} MiB resident, {} hazards\n", fed,
               static_cast<double>(last) / (1 << 20), checker.hazards());
    std::fflush(stdout);
    next *= 10;
  }
  fmt::print("RATIO engine_memory_growth {:.3f}\n",
             static_cast<double>(last) / static_cast<double>(at_first));
}

int TimeFile(const std::string& path) {
  Program program;
  for (const char* name : {"gemm", "norm", "gelu", "softmax", "residual", "norm_bwd", "gemm_bwd",
                           "adam", "stream", "thread"}) {
    program.strings.Intern(name);
  }
  auto read = ReadOperations(path, &program);
  if (!read) {
    fmt::print(stderr, "engine_bench: {}\n", read.error().Text());
    return 2;
  }
  std::vector<double> rates;
  size_t hazards = 0;
  for (int i = 0; i < kRoundsOfFile; ++i) {
    Round round = Judge(program);
    rates.push_back(round.rate);
    hazards = round.hazards;
  }
  fmt::print("{} operations, {} hazards\nRATE {:.0f}\n", program.ops.size(), hazards,
             Median(rates));
  return 0;
}

int MeasureRates(const Arguments& arguments) {
  WorkloadOptions options = arguments.workload;
  double step = MedianRate(Record(options, kRecorded), "training step");
  options.launches_only = true;
  double launches = MedianRate(Record(options, kRecorded), "launches with three ranges each");
  fmt::print("RATIO engine_training_step_vs_3M {:.2f}\n", step / kGoal);
  fmt::print("RATIO engine_launches_vs_3M {:.2f}\n", launches / kGoal);
  return 0;
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    bool more = i + 1 < argc;
    if (word == "--launches")
      arguments->workload.launches_only = true;
    else if (word == "--omit-waits")
      arguments->workload.omit_waits = true;
    else if (word == "--memory") {
      arguments->memory = true;
      arguments->count = more && std::isdigit(argv[i + 1][0])
                             ? std::strtoull(argv[++i], nullptr, 10)
                             : 100'000'000;
    } else if (word == "--time" && more)
      arguments->time = argv[++i];
    else if (word == "--write" && i + 2 < argc) {
      arguments->write = argv[++i];
      arguments->count = std::strtoull(argv[++i], nullptr, 10);
    } else
      return false;
  }
  return true;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    fmt::print(stderr,
               "usage: engine_bench [--memory [COUNT] | --write FILE COUNT | --time FILE] "
               "[--launches] [--omit-waits]\n");
    return 2;
  }
  if (!arguments.write.empty()) {
    auto written = WriteOperations(arguments.write, arguments.workload, arguments.count);
    if (!written) fmt::print(stderr, "engine_bench: {}\n", written.error().Text());
    return written ? 0 : 2;
  }
  if (!arguments.time.empty()) return TimeFile(arguments.time);
  if (!arguments.memory) return MeasureRates(arguments);
  MeasureMemory(arguments);
  return 0;
}

}  // namespace
}  // namespace ss::bench

int main(int argc, char** argv) { return ss::bench::Main(argc, argv); }
