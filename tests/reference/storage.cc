#include "tests/reference/storage.h"

#include <algorithm>

namespace ss::reference {

std::vector<Range> Without(const std::vector<Range>& ranges, uint64_t begin, uint64_t end) {
  std::vector<Range> rest;
  for (const Range& range : ranges) {
    if (range.begin < std::min(begin, range.end)) {
      rest.push_back({range.begin, std::min(begin, range.end)});
    }
    if (std::max(end, range.begin) < range.end) {
      rest.push_back({std::max(end, range.begin), range.end});
    }
  }
  return rest;
}

TenantId Storage::Allocate(Tenant tenant) {
  tenant.storage = static_cast<StorageId>(tenants_.size() + 1);
  Inherit(&tenant);
  tenants_.push_back(tenant);
  return static_cast<TenantId>(tenants_.size() - 1);
}

// Memory that is mapped starts with a clean slate: nobody has anything to do with what was there.
void Storage::Inherit(Tenant* tenant) const {
  tenant->lineage = {tenant->storage};
  for (const Tenant& old : tenants_) {
    if (old.begin >= tenant->end || tenant->begin >= old.end || old.freed == kNever) continue;
    const uint64_t begin = std::max(old.begin, tenant->begin);
    const uint64_t end = std::min(old.end, tenant->end);
    if (tenant->memory == MemoryKind::kDevice) continue;
    if (Kept(begin, end, old.allocated, tenant->allocated).empty()) continue;
    tenant->lineage.insert(old.lineage.begin(), old.lineage.end());
  }
}

TenantId Storage::IdOf(BufferId buffer, size_t at) const {
  for (TenantId id = static_cast<TenantId>(tenants_.size()); id-- > 0;) {
    if (tenants_[id].buffer == buffer && tenants_[id].allocated <= at) return id;
  }
  return ~TenantId{0};
}

Tenant* Storage::Find(BufferId buffer) {
  const TenantId id = IdOf(buffer);
  return id == ~TenantId{0} ? nullptr : &tenants_[id];
}

void Storage::Free(BufferId buffer, size_t at) {
  if (Tenant* tenant = Find(buffer)) tenant->freed = at;
}

std::vector<Range> Storage::Kept(uint64_t begin, uint64_t end, size_t from, size_t until) const {
  std::vector<Range> kept = {{begin, end}};
  for (const Tenant& mapping : tenants_) {
    if (mapping.memory != MemoryKind::kDevice) continue;
    const bool began = from < mapping.allocated && mapping.allocated < until;
    const bool ended = mapping.freed != kNever && from < mapping.freed && mapping.freed < until;
    if (began || ended) kept = Without(kept, mapping.begin, mapping.end);
  }
  return kept;
}

std::vector<Piece> Storage::Cut(const Access& access) const {
  std::vector<Piece> pieces;
  std::vector<Range> left = {{access.begin, access.end}};
  for (TenantId id = static_cast<TenantId>(tenants_.size()); id-- > 0 && !left.empty();) {
    const Tenant& tenant = tenants_[id];
    // A block goes with the mapping that it was cut from.
    const bool block = tenant.memory == MemoryKind::kCaching;
    const std::vector<Range> held = block ? Kept(tenant.begin, tenant.end, tenant.allocated, kNever)
                                          : std::vector<Range>{{tenant.begin, tenant.end}};
    for (const Range& part : held) {
      for (const Range& range : left) {
        const uint64_t begin = std::max(range.begin, part.begin);
        const uint64_t end = std::min(range.end, part.end);
        if (begin < end) pieces.push_back({id, begin, end, access.mode, false});
      }
      left = Without(left, part.begin, part.end);
    }
  }
  return pieces;
}

}  // namespace ss::reference
