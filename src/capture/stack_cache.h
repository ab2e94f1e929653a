// Recognises call stacks that one thread was seen with before.
//
// Stacks of one call (return address and stack pointer) form a tree: its nodes are the slots in
// which they differ, and its edges the return addresses there. So a few slots lead to the one stack
// that it can be; all its slots are compared with that one at last. (Rejected: a few stacks for
// each call. In PyTorch hundreds of operators reach the driver through one call of the runtime, at
// the same depth; nearly every one was unwound anew.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace ss::capture {

constexpr size_t kMaxFrames = 64;  // deeper ones are cut

// Innermost first; addresses[i] lies in the stack at slots[i], ever further up.
struct SeenStack {
  const uint64_t* addresses;
  const uint64_t* slots;
  size_t count;
};

class StackCache {
 public:
  static StackCache* New();  // null when there is no memory
  static void Delete(StackCache* cache);

  // The id of the stack of the call that returns to `caller`, with `cfa` = the stack pointer at the
  // call; 0 = not known. The thread's stack ends at `high`: all between is readable.
  uint64_t Find(const void* caller, uintptr_t cfa, uintptr_t high) const;

  // One whose slots hold its addresses now. Where two of the same call have equal addresses in
  // different slots (a function with a frame of changing size), only the first is kept.
  void Add(const SeenStack& seen, uintptr_t cfa, uint64_t id);

 private:
  static constexpr uint32_t kLeaves = 1 << 13;
  static constexpr uint32_t kEdges = 1 << 15;
  static constexpr uint32_t kNode = uint32_t{1} << 31;  // marks a reference to a node
  static constexpr uint64_t kUnit = sizeof(uint64_t);

  struct Leaf {
    uint64_t id;
    uint64_t sum;
    uint32_t count;
    uint16_t offsets[kMaxFrames];  // of the slots, from the first, in words
  };
  struct Node {
    uint32_t leaf;  // one below it
    uint16_t index;
    uint16_t offset;  // of the slot
  };
  struct Edge {
    uint64_t address;
    uint32_t from;  // 0 = none
    uint32_t to;
  };

  static constexpr uint32_t kRoot = 1;  // `from` of the edges to the trees
  static uint64_t RootOf(uint64_t caller, uintptr_t cfa);
  static uint64_t Sum(const Leaf& leaf, uintptr_t base);

  const Edge* Lookup(uint32_t from, uint64_t address) const;
  Edge* Link(uint32_t from, uint64_t address);
  uint32_t Like(const SeenStack& seen, uintptr_t cfa) const;
  uint32_t NewLeaf(const SeenStack& seen, uintptr_t cfa, uint64_t id);
  size_t Difference(const SeenStack& seen, uintptr_t cfa, uint32_t leaf) const;
  void Branch(const SeenStack& seen, uintptr_t cfa, size_t index, uint32_t like, uint64_t id);
  void Forget();

  uint32_t leaf_count_;  // 0 is none
  uint32_t node_count_;
  uint32_t edge_count_;
  Edge edges_[kEdges];
  Node nodes_[kLeaves];
  Leaf leaves_[kLeaves];
  uint64_t addresses_[kLeaves][kMaxFrames];
};

}  // namespace ss::capture
