// The kernel of store.h twice: with the safe handles, and by hand. sass.sh compares their
// instructions.
#include "tests/safe/store.h"

namespace {

using namespace streamsan::safe::detail;

template <int Stages>
struct HandState {
  int index = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void Next() {
    if (++index == Stages) index = 0, phase ^= 1;
  }
};

struct HandBarriers {
  uint64_t k_full[2], k_empty[2], acc_full[2], acc_empty[2], o_full[1], o_empty[1];
};

__device__ __forceinline__ void ByHand(HandBarriers& b, int chunks, store::Buffers* s, int thread,
                                       const float* from, float* to) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) Init(&b.k_full[i], 1), Init(&b.k_empty[i], 32);
    for (int i = 0; i < 2; ++i) Init(&b.acc_full[i], 32), Init(&b.acc_empty[i], 128);
    Init(&b.o_full[0], 128), Init(&b.o_empty[0], 32);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= 0 && warp < 4) {
    HandState<2> acc;
    for (int c = 0; c < chunks; ++c) {
      Await(&b.acc_full[acc.index], acc.phase);
      to[thread] += s->acc[acc.index][thread % 128];
      Arrive(&b.acc_empty[acc.index]);
      acc.Next();
      acc.Next();
    }
  }
  if (warp >= 4 && warp < 8) {
    HandState<2> acc;
    HandState<1> o;
    o.phase = 1;
    for (int c = 0; c < chunks; ++c) {
      acc.Next();
      Await(&b.acc_full[acc.index], acc.phase);
      Await(&b.o_empty[o.index], o.phase);
      s->o[thread % 128] = s->acc[acc.index][thread % 128];
      Arrive(&b.acc_empty[acc.index]);
      acc.Next();
      Arrive(&b.o_full[o.index]);
      o.Next();
    }
    Await(&b.o_empty[o.index], o.phase);
    o.Next();
  }
  if (warp >= 8 && warp < 9) {
    HandState<2> k, acc;
    acc.phase = 1;
    for (int c = 0; c < chunks; ++c) {
      Await(&b.k_full[k.index], k.phase);
      for (int turn = 0; turn < 2; ++turn) {
        Await(&b.acc_empty[acc.index], acc.phase);
        for (int i = thread % 32; i < 128; i += 32) s->acc[acc.index][i] = s->k[k.index][i] + turn;
        Arrive(&b.acc_full[acc.index]);
        acc.Next();
      }
      Arrive(&b.k_empty[k.index]);
      k.Next();
    }
    for (int i = 0; i < 2; ++i) Await(&b.acc_empty[acc.index], acc.phase), acc.Next();
  }
  if (warp >= 9 && warp < 10 && lane < 1) {
    HandState<2> k;
    k.phase = 1;
    for (int c = 0; c < chunks; ++c) {
      Await(&b.k_empty[k.index], k.phase);
      ArriveExpecting(&b.k_full[k.index], 512);
      store::Kernel::Copy(s->k[k.index], from + c * 128, &b.k_full[k.index]);
      k.Next();
    }
    for (int i = 0; i < 2; ++i) Await(&b.k_empty[k.index], k.phase), k.Next();
  }
  if (warp >= 10 && warp < 11) {
    HandState<1> o;
    for (int c = 0; c < chunks; ++c) {
      Await(&b.o_full[o.index], o.phase);
      for (int i = thread % 32; i < 128; i += 32) to[c * 128 + i] = s->o[i];
      Arrive(&b.o_empty[o.index]);
      o.Next();
    }
  }
}

}  // namespace

extern "C" __global__ void safe_kernel(int chunks, const float* from, float* to) {
  __shared__ streamsan::safe::Barriers<store::Kernel> barriers;
  __shared__ alignas(128) store::Buffers buffers;
  streamsan::safe::RunRoles<store::Kernel>(barriers, chunks, &buffers,
                                           static_cast<int>(threadIdx.x), from, to);
}

extern "C" __global__ void hand_kernel(int chunks, const float* from, float* to) {
  __shared__ HandBarriers barriers;
  __shared__ alignas(128) store::Buffers buffers;
  ByHand(barriers, chunks, &buffers, static_cast<int>(threadIdx.x), from, to);
}
