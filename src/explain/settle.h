// Which of many sets of waits a program needs, with as few replays as possible.
//
// Taking more out never makes anything ordered, so units that can go together can go one by one.
// Where they cannot, the new hazards say whose fault they are: only a wait between two operations
// can order them (what it waits for was issued before it), so a pair with one unit's waits in
// between needs that unit. What is left is tried again, and split where nobody could be blamed.
// A try of several asks for every pair without an order (CheckOptions::every_pair): of two hazards
// with one cause either may be told of, and each has its own wait to blame.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/explain/ablate.h"

namespace ss {

using HazardCounts = std::map<std::string, uint64_t>;  // instances by key

// What `result` has beyond `before`, of at least this confidence. Instances are left where all of
// them are new.
std::vector<Finding> NewHazards(CheckResult result, const HazardCounts& before, Confidence least);

struct Unit {
  std::vector<size_t> indices;  // of its waits, in the tape
  WaitVerdict verdict = WaitVerdict::kNotTried;
  std::vector<Finding> hazards;  // where it is load-bearing
};

// Fills the verdicts, as far as options.max_replayed goes.
void Settle(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
            const HazardCounts& before, std::vector<Unit>* units);

// Calls `work(i)` for every i below `count`, on `threads` threads (0 = one a processor).
template <typename Work>
void InParallel(size_t count, unsigned threads, Work work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  size_t wanted = threads ? threads : std::thread::hardware_concurrency();
  wanted = std::clamp<size_t>(wanted, 1, std::max<size_t>(count, 1));
  std::vector<std::thread> running;
  for (size_t i = 1; i < wanted; ++i) running.emplace_back(run);
  run();
  for (std::thread& thread : running) thread.join();
}

}  // namespace ss
