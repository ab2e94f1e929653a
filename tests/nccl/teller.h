// The part of NCCL that tells a profiler plug-in of its operations, in each version of the
// interface and in NCCL's order: the call (version 5 alone), the launch, then the plan and what it
// does.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

struct Asked {
  const char* function;  // as NCCL names it: "AllReduce"
  const void* send;
  void* receive;
  size_t count;
  int type;
  int peer;  // or root
  CUstream stream;
};

// One a communicator. Does nothing unless NCCL_PROFILER_PLUGIN names a plug-in that has the version
// of NCCL_STAND_IN_VERSION (default 5).
class Teller {
 public:
  Teller(int rank, int ranks, uint64_t hash);
  ~Teller();
  // When the function is called; the handle belongs to the operation.
  void* Call(const Asked& asked, bool captured = false);
  // Behind the launch.
  void Plan(const Asked& asked, void* call);

 private:
  int rank_;
  uint64_t hash_;
  int version_ = 0;
  int mask_ = 0;
  void* context_ = nullptr;
  const void* table_ = nullptr;
};
