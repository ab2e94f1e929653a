#include "src/pipeline/arrivals.h"

#include <algorithm>

#include "src/pipeline/room.h"

namespace ss::pipeline {
namespace {

// One barrier of one block. Counts run on from phase to phase: an arrival that was read just before
// the barrier went on is taken for the earlier phase, and must not be missing in the later one.
struct Tally {
  uint64_t phase = 0;     // gone by
  uint64_t taken = 0;     // arrivals that these took
  uint32_t expected = 0;  // of the phase that runs: the most read in it
  uint64_t own = 0, async = 0;
  uint64_t before = 0;  // own ones, when the phase that runs began
  uint32_t usual = 0;   // arrivals of a phase, where the object's counts are not known

  // The object as it was read: whether what is logged explains it.
  Arrivals Look(uint64_t word) {
    Arrivals explained = Arrivals::kAll;
    if (WordParity(word) != phase % 2) {
      explained = expected || WordHasCounts(word) ? Complete(word) : CompleteAsUsual();
      ++phase;
      before = own;
      expected = 0;
    }
    if (WordHasCounts(word)) expected = std::max(expected, WordExpected(word));
    return explained;
  }

 private:
  Arrivals Complete(uint64_t word) {
    taken += expected ? expected : WordExpected(word);
    if (own >= taken) return Arrivals::kAll;
    return own + async < taken ? Arrivals::kNotAll : Arrivals::kWithAsync;
  }

  // What a phase takes is not known: every one must have had as many as the others.
  Arrivals CompleteAsUsual() {
    const auto came = static_cast<uint32_t>(own - before);
    if (usual == 0) usual = came;
    taken += came;
    return came != 0 && came == usual && async == 0 ? Arrivals::kAll : Arrivals::kNotAll;
  }
};

class Counting {
 public:
  explicit Counting(const RecordedLaunch& launch) : launch_(launch) {}

  void Take(const LogRecord& record, std::map<uint32_t, ArrivalsSeen>& seen) {
    const BarrierKey key = KeyOf(launch_, record);
    const RecordKind kind = record.Kind();
    if (kind == RecordKind::kInit) tallies_[key] = {};
    if (kind == RecordKind::kInvalidate) tallies_.erase(key);
    const auto it = tallies_.find(key);
    if (it == tallies_.end()) return;
    Tally& tally = it->second;
    // A look that failed may be read long after it looked: it says nothing here.
    const bool passed = kind == RecordKind::kTry && record.result;
    if (record.word != 0 && (passed || IsArrival(kind))) {
      ArrivalsSeen& barrier = seen[key.second];
      barrier.which = std::max(barrier.which, tally.Look(record.word));
      const uint32_t expected =
          WordHasCounts(record.word) ? WordExpected(record.word) : tally.usual;
      barrier.expected = std::max(barrier.expected, expected);
    }
    if (IsArrival(kind)) tally.own += ArrivalCount(record);
    if (kind == RecordKind::kAsyncArrive) tally.async += ArrivalCount(record);
  }

 private:
  const RecordedLaunch& launch_;
  std::map<BarrierKey, Tally> tallies_;
};

}  // namespace

std::map<uint32_t, ArrivalsSeen> CountArrivals(const std::vector<const RecordedLaunch*>& launches) {
  std::map<uint32_t, ArrivalsSeen> seen;
  for (const RecordedLaunch* launch : launches) {
    Counting counting(*launch);
    for (const LogRecord& record : launch->records) counting.Take(record, seen);
  }
  return seen;
}

}  // namespace ss::pipeline
