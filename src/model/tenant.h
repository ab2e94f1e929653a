// One tenancy of a range of memory: from its allocation to the next one over the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/model/order.h"
#include "src/program/op.h"

namespace ss {

struct Tenant {
  BufferId id = 0;
  StringId name = 0;
  MemoryKind kind{};
  uint64_t begin = 0, end = 0;
  StreamId owner = 0;  // caching and pool blocks
  uint32_t pool = 0;
  uint32_t device = 0, rank = 0;
  bool is_private = false;  // a library's workspace (rule 21)
  Op alloc;
  size_t alloc_index = 0;

  bool freed = false;
  Op free;
  size_t free_index = 0;

  bool watched = false;  // an access must look: not used yet, or freed
  LaneId alloc_lane =
      0;  // pool: the allocation itself; caching: the owner's last work at the allocation
  uint64_t alloc_epoch = 0;
  // Uses that a confirmed lifetime finding speaks of: a reuse that finds them still open has
  // struck.
  struct OpenUse {
    LaneId lane = 0;
    uint64_t epoch = 0;
    size_t index = 0;        // the use's operation
    size_t other_index = 0;  // the free
    size_t finding = 0;
  };
  std::vector<OpenUse> open_uses;
  std::vector<size_t>
      struck;  // findings whose storage this tenant got: its first use did the damage

  struct Recorded {
    StreamId stream = 0;
    HostId host = 0;
    size_t index = 0;
    Op op;
  };
  std::vector<Recorded> recorded;
  UserSet users;
  std::vector<ConditionalEdge> edges;  // missing edges that findings on this buffer stand for
  std::vector<size_t> settled;  // uses (op indices) that a confirmed lifetime finding speaks of
  std::vector<LaneId> reported_late;  // lanes whose use after the free was reported
  std::vector<std::string> aliases;   // older tenants of the storage
};

}  // namespace ss
