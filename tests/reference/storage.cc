#include "tests/reference/storage.h"

#include <algorithm>

namespace ss::reference {
namespace {

struct Range {
  uint64_t begin = 0, end = 0;
};

// What is left of `ranges` outside [begin, end).
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

}  // namespace

TenantId Storage::Allocate(Tenant tenant) {
  tenant.storage = static_cast<StorageId>(tenants_.size() + 1);
  Inherit(&tenant);
  tenants_.push_back(tenant);
  return static_cast<TenantId>(tenants_.size() - 1);
}

void Storage::Inherit(Tenant* tenant) const {
  tenant->lineage = {tenant->storage};
  for (const Tenant& old : tenants_) {
    if (old.begin >= tenant->end || tenant->begin >= old.end || old.freed == kNever) continue;
    tenant->lineage.insert(old.lineage.begin(), old.lineage.end());
  }
}

TenantId Storage::IdOf(BufferId buffer) const {
  for (TenantId id = static_cast<TenantId>(tenants_.size()); id-- > 0;) {
    if (tenants_[id].buffer == buffer) return id;
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

std::vector<Piece> Storage::Cut(const Access& access) const {
  std::vector<Piece> pieces;
  std::vector<Range> left = {{access.begin, access.end}};
  for (TenantId id = static_cast<TenantId>(tenants_.size()); id-- > 0 && !left.empty();) {
    const Tenant& tenant = tenants_[id];
    for (const Range& range : left) {
      const uint64_t begin = std::max(range.begin, tenant.begin);
      const uint64_t end = std::min(range.end, tenant.end);
      if (begin < end) pieces.push_back({id, begin, end, access.mode, false});
    }
    left = Without(left, tenant.begin, tenant.end);
  }
  return pieces;
}

}  // namespace ss::reference
