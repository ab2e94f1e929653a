// Which of the allowed interleavings happens. A policy decides only among operations that the
// ordering rules let run; it is deterministic from its seed, given one host thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "objects.h"

namespace ss::vgpu {

class Policy {
 public:
  virtual ~Policy() = default;

  // Between two calls of the host: shall the device take a further step before the host goes on?
  // `ready` (by stream id) is not empty.
  virtual bool RunMore(const std::vector<Op*>& ready) = 0;

  // The operation whose next slice runs. `ready` is not empty and at least one of it is `needed` if
  // any host thread waits.
  virtual Op* Pick(const std::vector<Op*>& ready) = 0;

  // A host thread begins to wait for these (in issue order), which nobody waited for before.
  virtual void Plan(const std::vector<Op*>&) {}

  // The host polls in vain: it should not starve the device.
  virtual void HostYields() {}
};

// eager: everything runs at once, in issue order: racy programs whose issue order is right come out
// right. lazy: nothing runs that no host thread waits for; of what is needed, the earliest-issued
// runs as late as the
//   order allows.
// random: a coin with a bias of the seed's choice decides how far the device runs ahead of the
// host; streams
//   are drawn uniformly.
// pct: streams and the host have random priorities; at a few random moments the one that is about
// to run
//   falls to the lowest (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees
//   of Finding Bugs", ASPLOS 2010). Finds inversions that need one stream to be starved for long.
std::unique_ptr<Policy> MakePolicy(const std::string& name, uint64_t seed, uint64_t pct_depth);

}  // namespace ss::vgpu
