// What a recording of mbarrier operations shows: the roles of each kernel, its pipelines, and what
// is wrong with them. Nothing is declared; roles and pairs are inferred from who arrives and who
// waits.
//
//   role    warps that wait at the same instructions for the same barriers
//   pair    two barriers of one slot: a role waits for one and then arrives on the other, another
//   role
//           does the reverse. The side that a fresh state may pass (parity 1) is the empty one
//
// Bulk copies complete on a barrier by themselves: they are no arrival of the role. An arrival that
// waits for a warp's cp.async is its own, and comes later.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/pipeline/arrivals.h"
#include "src/pipeline/log.h"

namespace ss::pipeline {

// An instruction of a kernel: byte offset in its code.
using Place = uint64_t;

// What a role did with one barrier, all its warps and all watched blocks together.
struct BarrierUse {
  uint64_t waits = 0, failed = 0;  // passed, and found it closed at first
  uint64_t arrivals = 0;
  uint64_t later = 0;          // arrivals that come when its copies are done
  uint64_t copies = 0;         // bulk copies and stores that it issued on it
  bool starts_open = false;    // some warp's first wait in a block had parity 1,
  bool starts_closed = false;  // or parity 0
  Place wait = 0, arrive = 0;  // the first seen
  std::vector<Place> waits_at;
};

struct SeenRole {
  std::string name;  // "warps 0-3"
  std::vector<uint32_t> warps;
  std::map<uint32_t, BarrierUse> uses;  // by barrier

  const BarrierUse* Use(uint32_t barrier) const;
  bool Waits(uint32_t barrier) const;
  bool Arrives(uint32_t barrier) const;
};

struct SeenBarrier {
  uint32_t expected = 0;  // arrivals a phase
  uint64_t phases = 0;    // that began, in all watched blocks
  bool bytes = false;     // copies complete on it
  Arrivals arrivals = Arrivals::kAll;
};

struct SeenPair {
  uint32_t full = 0, empty = 0;
  bool oriented = false;   // false: either may be the full one
  bool both_open = false;  // every role on either side begins with parity 1
  // Every producer begins with parity 0: consumers give each slot back before its first use.
  bool given_first = false;
  std::vector<uint32_t> producers, consumers;  // roles
};

struct SeenKernel {
  std::string name;
  uint64_t launches = 0, blocks = 0, blocks_watched = 0, records = 0;
  std::vector<SeenRole> roles;
  std::map<uint32_t, SeenBarrier> barriers;  // in use, by offset in the block's shared memory
  std::vector<SeenPair> pairs;
  uint64_t named_barriers = 0, cluster_barriers = 0;
  uint64_t module = 0;
  uint64_t withheld = 0;  // waits of which it cannot be told whether they were early
  uint64_t unread = 0;    // arrivals and looks without the mbarrier object: of unknown phase
  uint64_t unused = 0;    // mbarriers that were initialised, and that nobody arrives on or awaits

  std::vector<uint32_t> Unseen() const;  // barriers that have arrivals which were not seen
  std::string BarrierName(uint32_t barrier) const;  // "mbarrier 0x480 (empty, of 0x478)"
  const SeenPair* PairOf(uint32_t barrier) const;
};

struct SeenFinding {
  std::string code;  // pipeline-owner, ...
  size_t kernel = 0;
  std::string role, other;
  std::vector<uint32_t> barriers;
  std::string text;
  std::vector<std::string> details;
  Place place = 0;
  bool certain = true;
  uint64_t times = 1;
};

struct Observation {
  std::vector<SeenKernel> kernels;
  std::vector<SeenFinding> findings;
  uint64_t records = 0, dropped = 0, launches = 0, unwatched = 0, graphs = 0, unknown_blocks = 0;
  bool hung = false;       // the watch gave up
  bool cut_short = false;  // the recording has no end: the program was killed or left abruptly
  uint64_t quiet_ms = 0;
};

Observation Observe(const Recording& recording);

}  // namespace ss::pipeline
