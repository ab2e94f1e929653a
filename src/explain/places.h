// Waits by the place in the program that makes them: what a person edits. Each place is taken out
// as a whole, then as many places at once as the program can do without.
//
// Taking more out never makes anything ordered. So places that can go together can go one by one,
// and a set is split only where it cannot: a program of thousands of needless places costs a few
// replays.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/explain/ablate.h"
#include "src/explain/critical_path.h"

namespace ss {

using HazardCounts = std::map<std::string, uint64_t>;  // instances by key

// What `result` has beyond `before`, of at least this confidence.
std::vector<Finding> NewHazards(CheckResult result, const HazardCounts& before, Confidence least);

// Fills `places`, `minimal` and `minimal_whole`; each Wait's `place`, and its verdict where that of
// the place settles it.
void AblatePlaces(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
                  const HazardCounts& before, Ablation* ablation);

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
