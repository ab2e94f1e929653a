// Where a call on a stream went, and what the handlers of graph nodes share.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>

#include "src/trace/encode.h"

namespace ss::capture {

// After a call on a (resolved) stream: the node that it became; kNodeless where the call is
// captured without one of its own (a record, a wait); 0 = the stream does not capture.
constexpr uint64_t kNodeless = 1;
uint64_t NodeOf(uint64_t stream);
// The same for calls that never make a node.
uint64_t CapturedAt(uint64_t stream);
// A graph is being captured on this (resolved) stream.
bool IsCapturing(uint64_t stream);

// What a copy touches: one contiguous range on each side, or rows with gaps between them.
struct Transfer {
  uint64_t to = 0;
  uint64_t from = 0;
  uint64_t bytes = 0;                // of the larger range
  bool exact = true;                 // no gaps
  std::array<uint64_t, 7> box = {};  // where there are: as trace::Copy has it
  bool array = false;                // one side is a CUarray: not modelled
  bool from_array_to_host = false;
};
Transfer TransferOf(const CUDA_MEMCPY3D* copy);
inline trace::view::Words BoxOf(const Transfer& transfer) {
  return {transfer.box.data(), transfer.exact ? 0 : transfer.box.size()};
}

struct Call;

// Whose work a record tells: a node of a graph, or of an executable one.
struct Target {
  uint64_t node = 0;
  uint64_t exec = 0;
};

// A kernel's launch as its node holds it. Words live in the thread until the next one is prepared.
struct KernelWork {
  uint64_t function = 0;
  uint64_t context = 0;
  uint64_t stack = 0;
  trace::view::Words words{};
};
KernelWork PrepareKernel(Call& call, CUfunction function, void** params, void** extra);
void EmitKernel(Call& call, const KernelWork& work, Target target);

// Host functions of graphs run any number of times: their wrappers stay.
struct HostWork {
  CUhostFn function = nullptr;  // the program's
  CUhostFn runner = nullptr;    // what the driver is given
  void* data = nullptr;
  uint64_t token = 0;
};
HostWork PrepareHost(CUhostFn function, void* data);
// The program asks for its own function back.
void UnwrapHost(CUhostFn* function, void** data);

// Operations of cuStreamBatchMemOp as the schema's fours, at `words`; how many words.
size_t MemOpWords(const CUstreamBatchMemOpParams* operations, unsigned count, uint64_t* words,
                  size_t room);

// Tells a node that was added by hand, and what it comes after.
void NoteNode(Call& call, CUgraph graph, CUgraphNode node, const CUgraphNode* dependencies,
              const CUgraphEdgeData* data, size_t count, uint64_t kind, CUgraph child,
              uint64_t stack);

}  // namespace ss::capture
