#include "src/pipeline/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/pipeline/judge.h"
#include "src/pipeline/room.h"
#include "src/pipeline/structure.h"

namespace ss::pipeline {
namespace {

// Launches of one kernel are looked at together: what a role never does, it does in none of them.
std::vector<std::vector<const RecordedLaunch*>> ByKernel(const Recording& recording) {
  std::map<std::string, std::vector<const RecordedLaunch*>> kernels;
  for (const RecordedLaunch& launch : recording.launches) kernels[launch.kernel].push_back(&launch);
  std::vector<std::vector<const RecordedLaunch*>> result;
  for (auto& [name, launches] : kernels) result.push_back(std::move(launches));
  return result;
}

}  // namespace

const BarrierUse* SeenRole::Use(uint32_t barrier) const {
  auto it = uses.find(barrier);
  return it == uses.end() ? nullptr : &it->second;
}

bool SeenRole::Waits(uint32_t barrier) const {
  const BarrierUse* use = Use(barrier);
  return use && use->waits + use->failed > 0;
}

bool SeenRole::Arrives(uint32_t barrier) const {
  const BarrierUse* use = Use(barrier);
  return use && use->arrivals + use->later > 0;
}

std::vector<uint32_t> SeenKernel::Unseen() const {
  std::vector<uint32_t> offsets;
  for (const auto& [offset, barrier] : barriers) {
    if (barrier.arrivals == Arrivals::kNotAll) offsets.push_back(offset);
  }
  return offsets;
}

const SeenPair* SeenKernel::PairOf(uint32_t barrier) const {
  for (const SeenPair& pair : pairs) {
    if (pair.full == barrier || pair.empty == barrier) return &pair;
  }
  return nullptr;
}

std::string SeenKernel::BarrierName(uint32_t barrier) const {
  const SeenPair* pair = PairOf(barrier);
  if (!pair) return fmt::format("mbarrier 0x{:x}", barrier);
  if (!pair->oriented) {
    return fmt::format("mbarrier 0x{:x} (pair 0x{:x}/0x{:x})", barrier, pair->full, pair->empty);
  }
  return pair->full == barrier
             ? fmt::format("mbarrier 0x{:x} (full, its empty 0x{:x})", barrier, pair->empty)
             : fmt::format("mbarrier 0x{:x} (empty, its full 0x{:x})", barrier, pair->full);
}

Observation Observe(const Recording& recording) {
  Observation seen;
  seen.launches = recording.launches_seen;
  seen.cut_short = !recording.end;
  if (recording.end) {
    seen.dropped = recording.end->dropped;
    seen.unwatched = recording.end->unwatched;
    seen.graphs = recording.end->graphs;
    seen.hung = recording.end->how == LogEnd::kHang;
    seen.quiet_ms = recording.end->quiet_ms;
  }
  for (const auto& launches : ByKernel(recording)) {
    SeenKernel kernel = FindStructure(launches);
    seen.records += kernel.records;
    seen.kernels.push_back(std::move(kernel));
    Judge(recording, launches, seen.kernels.size() - 1, seen);
  }
  return seen;
}

}  // namespace ss::pipeline
