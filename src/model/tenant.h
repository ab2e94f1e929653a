// One tenancy of a range of memory: from its allocation to the next one over the same bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/model/order.h"
#include "src/program/op.h"

namespace ss {

// What every access looks at comes first, on one cache line.
struct alignas(64) Tenant {
  UserSet users;
  MemoryKind kind{};
  bool watched = false;  // an access must look: not used yet, or freed
  bool freed = false;
  bool used = false;        // scratch of a sweep
  bool is_private = false;  // a library's workspace (rule 21)
  // Pool: the allocation itself; caching: the owner's last work at the allocation.
  LaneId alloc_lane = 0;
  uint64_t alloc_epoch = 0;
  // Caching: the owner's programmatic launches at the allocation, which run beside its lane (rule
  // 13).
  std::vector<std::pair<LaneId, uint64_t>> alloc_beside;
  // Caching, with uses that the free does not cover: a mark of its owner's, just behind the free.
  LaneId free_lane = 0;
  uint64_t free_epoch = 0;

  BufferId id = 0;
  StringId name = 0;
  uint64_t begin = 0, end = 0;
  StreamId owner = 0;  // caching and pool blocks
  uint32_t pool = 0;
  uint32_t device = 0, rank = 0;
  Op alloc;
  size_t alloc_index = 0;
  Op free;
  size_t free_index = 0;

  // Bytes of uses that a confirmed lifetime finding stands for, of this tenant's or of older ones'
  // of the same bytes: who gets them while the use may run has struck.
  struct OpenUse {
    LaneId lane = 0;
    uint64_t epoch = 0;
    size_t index = 0;        // the use's operation
    size_t other_index = 0;  // the free
    size_t finding = 0;
    uint64_t begin = 0, end = 0;  // a part of what it touched:
    uint64_t access_begin = 0, access_end = 0;
    ShapeId shape = 0;
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
  std::vector<ConditionalEdge> edges;  // missing edges that findings on this buffer stand for
  std::vector<size_t> settled;  // uses (op indices) that a confirmed lifetime finding speaks of
  // Where operations are ordered against the order of issue: what was over for everybody at the
  // free. It goes with the next tenant only: a use that is issued after the free may come before
  // it.
  Clock over;
  std::vector<std::pair<LaneId, size_t>>
      reported_late;  // lanes whose use after the free was reported, and the finding
  struct Alias {
    BufferId id = 0;
    StringId name = 0;
  };
  static constexpr size_t kMaxAliases = 8;
  std::array<Alias, kMaxAliases>
      aliases;  // older tenants of the storage that an expectation may name
  size_t alias_count = 0;
  void AddAlias(Alias alias) {
    if (alias_count == kMaxAliases) std::copy(aliases.begin() + 1, aliases.end(), aliases.begin());
    alias_count = std::min(alias_count + 1, kMaxAliases);
    aliases[alias_count - 1] = alias;
  }
};

}  // namespace ss
