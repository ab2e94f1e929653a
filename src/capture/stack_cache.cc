#include "src/capture/stack_cache.h"

#include <string.h>
#include <sys/mman.h>

#include <array>

namespace ss::capture {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

// Odd factors without a pattern: the sum of the products tells stacks apart.
constexpr std::array<uint64_t, kMaxFrames> MakeFactors() {
  std::array<uint64_t, kMaxFrames> factors{};
  uint64_t state = kOdd;
  for (uint64_t& factor : factors) {
    state ^= state >> 30;
    state *= 0xbf58476d1ce4e5b9;
    state ^= state >> 27;
    state += kOdd;
    factor = state | 1;
  }
  return factors;
}
constexpr std::array<uint64_t, kMaxFrames> kFactors = MakeFactors();

uint64_t WordAt(uintptr_t address) { return *reinterpret_cast<const uint64_t*>(address); }

// Where the program's return address lies.
uintptr_t BaseOf(uintptr_t cfa) { return cfa - sizeof(uint64_t); }

}  // namespace

StackCache* StackCache::New() {
  void* memory = mmap(nullptr, sizeof(StackCache), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<StackCache*>(memory);
}

void StackCache::Delete(StackCache* cache) {
  if (cache) munmap(cache, sizeof(StackCache));
}

uint64_t StackCache::RootOf(uint64_t caller, uintptr_t cfa) { return caller ^ (cfa * kOdd); }

uint64_t StackCache::Sum(const Leaf& leaf, uintptr_t base) {
  uint64_t sum = leaf.count;
  for (uint32_t i = 0; i < leaf.count; ++i) {
    sum += WordAt(base + leaf.offsets[i] * kUnit) * kFactors[i];
  }
  return sum;
}

uint64_t StackCache::Find(const void* caller, uintptr_t cfa, uintptr_t high) const {
  uintptr_t base = BaseOf(cfa);
  const Edge* edge = Lookup(kRoot, RootOf(reinterpret_cast<uint64_t>(caller), cfa));
  while (edge && (edge->to & kNode)) {
    uintptr_t slot = base + nodes_[edge->to & ~kNode].offset * kUnit;
    if (slot >= high) return 0;
    edge = Lookup(edge->to, WordAt(slot));
  }
  if (!edge) return 0;
  const Leaf& leaf = leaves_[edge->to];
  if (base + leaf.offsets[leaf.count - 1] * kUnit >= high) return 0;
  return Sum(leaf, base) == leaf.sum ? leaf.id : 0;
}

void StackCache::Add(const SeenStack& seen, uintptr_t cfa, uint64_t id) {
  if ((seen.slots[seen.count - 1] - BaseOf(cfa)) / kUnit > UINT16_MAX) return;
  bool full = leaf_count_ + 1 >= kLeaves || edge_count_ + 3 > kEdges / 4 * 3;
  if (full) Forget();
  uint64_t root = RootOf(seen.addresses[0], cfa);
  if (!Lookup(kRoot, root)) {
    Link(kRoot, root)->to = NewLeaf(seen, cfa, id);
    return;
  }
  uint32_t like = Like(seen, cfa);
  size_t index = Difference(seen, cfa, like);
  if (index < seen.count) Branch(seen, cfa, index, like, id);
}

const StackCache::Edge* StackCache::Lookup(uint32_t from, uint64_t address) const {
  size_t at = ((address ^ (from * kOdd)) * kOdd) >> (64 - 15);
  static_assert(kEdges == 1 << 15);
  for (;; at = (at + 1) % kEdges) {
    const Edge& edge = edges_[at];
    if (edge.from == from && edge.address == address) return &edge;
    if (edge.from == 0) return nullptr;
  }
}

// There or new; never more than three quarters of the edges are in use.
StackCache::Edge* StackCache::Link(uint32_t from, uint64_t address) {
  size_t at = ((address ^ (from * kOdd)) * kOdd) >> (64 - 15);
  for (;; at = (at + 1) % kEdges) {
    Edge& edge = edges_[at];
    if (edge.from == from && edge.address == address) return &edge;
    if (edge.from != 0) continue;
    ++edge_count_;
    edge.from = from;
    edge.address = address;
    return &edge;
  }
}

// A leaf that no other one has more in common with.
uint32_t StackCache::Like(const SeenStack& seen, uintptr_t cfa) const {
  const Edge* edge = Lookup(kRoot, RootOf(seen.addresses[0], cfa));
  uint32_t to = edge->to;
  while (to & kNode) {
    const Node& node = nodes_[to & ~kNode];
    edge = node.index < seen.count ? Lookup(to, seen.addresses[node.index]) : nullptr;
    to = edge ? edge->to : node.leaf;
  }
  return to;
}

// The first index at which the addresses differ; seen.count where there is none, or where the same
// addresses lie in other slots.
size_t StackCache::Difference(const SeenStack& seen, uintptr_t cfa, uint32_t leaf) const {
  const Leaf& other = leaves_[leaf];
  for (size_t i = 0; i < seen.count && i < other.count; ++i) {
    if ((seen.slots[i] - BaseOf(cfa)) / kUnit != other.offsets[i]) return seen.count;
    if (seen.addresses[i] != addresses_[leaf][i]) return i;
  }
  return seen.count;
}

uint32_t StackCache::NewLeaf(const SeenStack& seen, uintptr_t cfa, uint64_t id) {
  uint32_t number = ++leaf_count_;
  Leaf& leaf = leaves_[number];
  leaf.id = id;
  leaf.count = static_cast<uint32_t>(seen.count);
  for (size_t i = 0; i < seen.count; ++i) {
    leaf.offsets[i] = static_cast<uint16_t>((seen.slots[i] - BaseOf(cfa)) / kUnit);
  }
  memcpy(addresses_[number], seen.addresses, seen.count * sizeof *seen.addresses);
  leaf.sum = Sum(leaf, BaseOf(cfa));
  return number;
}

// `seen` differs from `like` first at `index`, and so from all that lie below a node at a higher
// one.
void StackCache::Branch(const SeenStack& seen, uintptr_t cfa, size_t index, uint32_t like,
                        uint64_t id) {
  Edge* edge = Link(kRoot, RootOf(seen.addresses[0], cfa));
  while ((edge->to & kNode) && nodes_[edge->to & ~kNode].index < index) {
    edge = Link(edge->to, seen.addresses[nodes_[edge->to & ~kNode].index]);
  }
  bool there = (edge->to & kNode) && nodes_[edge->to & ~kNode].index == index;
  uint32_t node = edge->to;
  if (!there) {
    uint32_t number = 2 + node_count_++;  // above kRoot
    node = number | kNode;
    nodes_[number] = {like, static_cast<uint16_t>(index), leaves_[like].offsets[index]};
    Link(node, addresses_[like][index])->to = edge->to;
    edge->to = node;
  }
  Link(node, seen.addresses[index])->to = NewLeaf(seen, cfa, id);
}

void StackCache::Forget() {
  memset(edges_, 0, sizeof edges_);
  leaf_count_ = node_count_ = edge_count_ = 0;
}

}  // namespace ss::capture
