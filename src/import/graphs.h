// What graphs hold while a program builds, changes and launches them: nodes with their operations,
// ready for the model's capture language (kCaptureBegin ... kCaptureEnd), and who comes after whom.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/import/objects.h"
#include "src/program/op.h"

namespace ss {

struct NodeOp {
  Op op;
  std::vector<Access> accesses;
};

struct GraphBody;

struct GraphNode {
  struct Before {
    uint32_t node = 0;
    bool start = false;  // its start or trigger, not its completion
  };
  uint64_t handle = 0;       // 0: an allocator's bookkeeping, at its place in the order of capture
  std::vector<NodeOp> work;  // empty: nothing of its own
  std::vector<Before> after;
  StreamId home = 0;      // that captured it; 0 = added by hand
  uint64_t function = 0;  // of a kernel that was added by hand
  bool enabled = true;
  bool gone = false;
  std::shared_ptr<const GraphBody> child;
};

struct GraphBody {
  std::vector<GraphNode> nodes;                     // as they were made
  std::unordered_map<uint64_t, uint32_t> position;  // by handle
  StreamId origin = 0;                              // of a capture

  GraphNode* Find(uint64_t handle) {
    auto it = position.find(handle);
    return it == position.end() ? nullptr : &nodes[it->second];
  }
};

// One capture that is under way, on the stream where it began and those that joined it.
struct OpenCapture {
  using Frontier = std::vector<GraphNode::Before>;  // what a stream's next node comes after
  uint64_t graph = 0;                               // handle, or a number of our own
  std::unordered_map<StreamId, Frontier> streams;
  std::unordered_map<EventId, Frontier> events;
  std::unordered_set<BufferId> blocks;  // allocated meanwhile
};

struct ExecutableGraph {
  uint32_t id = 0;
  StringId name = 0;
  GraphBody body;
  bool told = false;               // the model has it as it is now
  std::vector<StreamId> branches;  // lanes beside those of captured streams
};

// A graph as a list in an order in which it could run, children and empty nodes resolved.
struct FlatNode {
  const GraphNode* node = nullptr;
  std::vector<GraphNode::Before> after;  // positions in the list
};
std::vector<FlatNode> Flatten(const GraphBody& body);

}  // namespace ss
