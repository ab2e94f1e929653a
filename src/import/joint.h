// Processes that share memory or events as one program (rule 8): what each was found to do, with
// its ids moved apart, an opened block as the part of its owner's block that it is, an opened event
// as its owner's event, and all operations in the order of time.
//
// In the default mode a call that uses what another process uses, too, acquires what that process's
// threads know then (kShared): they have told each other in a way that the driver does not see.
// After a process has ended nothing of it uses memory: that is a synchronisation of its devices.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/base/strings.h"
#include "src/program/collectives.h"
#include "src/program/op.h"
#include "src/program/shared.h"

namespace ss {

// A process's operations as its own analysis took them: graphs are launched out.
struct ProcessTape {
  // From operation `from` on it is `ns` at least.
  struct Time {
    size_t from = 0;
    uint64_t ns = 0;
  };
  uint32_t rank = 0;  // another one for each; below 2^15
  const StringTable* strings = nullptr;
  const ShapeTable* shapes = nullptr;
  const std::vector<Op>* ops = nullptr;
  const std::vector<Access>* accesses = nullptr;
  const std::vector<Time>* times = nullptr;
  const std::vector<SharedThing>* shared = nullptr;
  const std::unordered_map<uint64_t, uint32_t>* flags = nullptr;  // by address
  StackId stacks_from = 0;                                        // what its stack ids are moved by
  // When it ended in order: then the driver ends what it has still to do. 0 = it did not, or
  // nobody knows when.
  uint64_t ended_ns = 0;
};

// A thing that one process gave away and another one opened: positions in what they share.
struct SharingPair {
  struct Side {
    size_t process = 0, thing = 0;
    auto operator<=>(const Side&) const = default;
  };
  Side given, opened;
};

// Every opened thing whose giver is there. Where a handle was given away several times, the last
// one before the opening counts.
std::vector<SharingPair> MatchShared(const std::vector<const std::vector<SharedThing>*>& processes);

// Which processes pairs hold together, as lists of positions, in order.
std::vector<std::vector<size_t>> GroupSharing(const std::vector<SharingPair>& pairs,
                                              size_t processes);

// Of a group's tapes, with the pairs among them. Host threads beyond what an id holds share the
// last one. With each one's ends of communicators, by their ids in its operations, what several
// of them call on one communicator meets (rule 23); where groups put several kinds or partners into
// one operation, it does not: which one meets which is not told.
Program JoinPrograms(const std::vector<ProcessTape>& tapes, const std::vector<SharingPair>& pairs,
                     const std::vector<const std::vector<CommEnd>*>& comms = {});

}  // namespace ss
