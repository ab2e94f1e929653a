// Who holds which bytes: tenancies by address range (rule 22), and accesses cut along them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "src/program/op.h"
#include "tests/reference/graph.h"
#include "tests/reference/lanes.h"

namespace ss::reference {

constexpr size_t kNever = ~size_t{0};
using TenantId = uint32_t;  // index into Storage::tenants()

struct Tenant {
  BufferId buffer = 0;
  std::string name;
  uint64_t begin = 0, end = 0;
  MemoryKind memory = MemoryKind::kUnknown;
  LaneId owner = kNoLane;  // caching blocks: the stream current at the allocation
  uint32_t pool = 0;
  uint64_t device = 0, rank = 0;
  StorageId storage = 0;
  // What is assumed for it: its own edges, and those of the ended tenancies whose bytes it got. A
  // newer tenancy of some of its bytes is another buffer.
  std::set<StorageId> lineage;
  size_t allocated = kNever;
  size_t freed = kNever;
  Node free_marker = 0;       // where the freed storage is known to be free of uses
  bool exit_free = false;     // freed during process exit: neither this nor later uses are judged
  bool carved_free = false;   // its bytes were an allocator's, and were judged there
  std::set<LaneId> recorded;  // at the free: record_stream lanes other than the owner
};

// A part of one access that lies in one tenant.
struct Piece {
  TenantId tenant = 0;
  uint64_t begin = 0, end = 0;
  uint8_t mode = 0;
  bool staged_source = false;  // read by the host while it stages a copy (rule 9)
};

struct Range {
  uint64_t begin = 0, end = 0;
};

// What is left of `ranges` outside [begin, end).
std::vector<Range> Without(const std::vector<Range>& ranges, uint64_t begin, uint64_t end);

class Storage {
 public:
  TenantId Allocate(Tenant tenant);
  void Free(BufferId buffer, size_t at);
  Tenant* Find(BufferId buffer);
  // A graph's launches allocate its buffers again: the tenancy that lasts, or ends, at this
  // operation.
  TenantId IdOf(BufferId buffer, size_t at = kNever) const;

  // The bytes of `access` by newest tenant at this moment; bytes without a tenant are left out.
  std::vector<Piece> Cut(const Access& access) const;

  std::vector<Tenant>& tenants() { return tenants_; }
  const std::vector<Tenant>& tenants() const { return tenants_; }

  // The bytes of [begin, end) that no mapping began or ended under between two points of the
  // program.
  std::vector<Range> Kept(uint64_t begin, uint64_t end, size_t from, size_t until) const;

 private:
  void Inherit(Tenant* tenant) const;

  std::vector<Tenant> tenants_;
};

}  // namespace ss::reference
