// A small stream-ordered caching allocator with PyTorch's rules: a block belongs to the stream that
// it was allocated for; a freed block may be handed out again at once to that stream; a recorded
// other stream defers that until the work queued on it at the free is done; recording the owner is
// silently dropped.
//
// Every call tells StreamSan what it does (annotate.h). One host thread.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gpu.h"

namespace ss::incidents {

class CachingAllocator {
 public:
  // `fill`: every allocation is filled with NaN on its stream, as a framework does in deterministic
  // mode.
  CachingAllocator(Gpu& gpu, bool fill) : gpu_(gpu), fill_(fill) {}
  ~CachingAllocator();  // all blocks are free again

  // n floats owned by `stream`.
  float* Allocate(CUstream stream, uint32_t n, const char* name);
  void Free(float* pointer);
  void RecordStream(float* pointer, CUstream stream);
  void set_fill(bool fill) { fill_ = fill; }

 private:
  struct Block {
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUstream owner = nullptr;
    std::set<CUstream> recorded;
    int pending = 0;  // events of recorded streams that are not over
  };
  using Key =
      std::tuple<CUstream, size_t, CUdeviceptr>;  // smallest address first, as PyTorch orders them

  Block* Take(CUstream stream, size_t bytes);
  void CollectPending();

  Gpu& gpu_;
  bool fill_;
  std::map<CUdeviceptr, Block> blocks_;  // all, in use or free
  std::map<Key, Block*> free_;
  std::deque<std::pair<CUevent, Block*>> pending_;
};

}  // namespace ss::incidents
