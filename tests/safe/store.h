// Two compute groups, a loader and an epilogue: the example that the tests of safe/pipeline.cuh
// share. Cg0 and Cg1 take turns on `acc`.
#pragma once

#include <streamsan/safe/pipeline.cuh>

namespace store {

namespace safe = streamsan::safe;

struct Cg0 : safe::Role<0, 4> {
  static constexpr char name[] = "CG0";
};
struct Cg1 : safe::Role<4, 4> {
  static constexpr char name[] = "CG1";
};
struct Mma : safe::Role<8, 1> {
  static constexpr char name[] = "MMA";
};
struct Tma : safe::Role<9, 1, 1> {
  static constexpr char name[] = "TMA";
};
struct Epi : safe::Role<10, 1> {
  static constexpr char name[] = "EPI";
};

struct LoadK : safe::Pipe<2, safe::Producers<Tma>, safe::Consumers<Mma>> {
  static constexpr char name[] = "load_k";
};
struct Acc : safe::Pipe<2, safe::Producers<Mma>, safe::TakeTurns<safe::Consumers<Cg0, Cg1>>> {
  static constexpr char name[] = "acc";
};
struct OStore : safe::Pipe<1, safe::Producers<Cg1>, safe::Consumers<Epi>> {
  static constexpr char name[] = "o_store";
};

struct Buffers {
  float k[2][128], acc[2][128], o[128];
};

struct Kernel {
  using Roles = safe::List<Cg0, Cg1, Mma, Tma, Epi>;
  using Pipes = safe::List<LoadK, Acc, OStore>;

  // `from` and `to` are global memory; nothing of it is touched where the roles are only described.
  template <class Me>
  STREAMSAN_SAFE_BOTH static void Run(Me& me, int chunks, Buffers* s, int thread, const float* from,
                                      float* to) {
    if constexpr (Me::template Is<Tma>) {
      auto k = me.template Producer<LoadK>();
      for (int c = 0; c < chunks; ++c) {
        k.Acquire();
        k.CommitCopies(512, [&](uint64_t* barrier) {
          me.Work([&] { Copy(s->k[k.Stage()], from + c * 128, barrier); });
        });
      }
      std::move(k).Tail();
    } else if constexpr (Me::template Is<Mma>) {
      auto k = me.template Consumer<LoadK>();
      auto acc = me.template Producer<Acc>();
      for (int c = 0; c < chunks; ++c) {
        k.Wait();
        for (int turn = 0; turn < 2; ++turn) {
          acc.Acquire();
          me.Work([&] {
            for (int i = thread % 32; i < 128; i += 32)
              s->acc[acc.Stage()][i] = s->k[k.Stage()][i] + turn;
          });
          acc.Commit();
        }
        k.Release();
      }
      std::move(acc).Tail();
    } else if constexpr (Me::template Is<Cg0>) {
      auto acc = me.template Consumer<Acc>();
      for (int c = 0; c < chunks; ++c) {
        acc.Wait();
        me.Work([&] { to[thread] += s->acc[acc.Stage()][thread % 128]; });
        acc.Release();
        acc.Skip();
      }
    } else if constexpr (Me::template Is<Cg1>) {
      auto acc = me.template Consumer<Acc>();
      auto o = me.template Producer<OStore>();
      for (int c = 0; c < chunks; ++c) {
        acc.Skip();
        acc.Wait();
        o.Acquire();
        me.Work([&] { s->o[thread % 128] = s->acc[acc.Stage()][thread % 128]; });
        acc.Release();
        o.Commit();
      }
      std::move(o).Tail();
    } else {
      auto o = me.template Consumer<OStore>();
      for (int c = 0; c < chunks; ++c) {
        o.Wait();
        me.Work([&] {
          for (int i = thread % 32; i < 128; i += 32) to[c * 128 + i] = s->o[i];
        });
        o.Release();
      }
    }
  }

  STREAMSAN_SAFE_BOTH static void Copy([[maybe_unused]] float* to,
                                       [[maybe_unused]] const float* from,
                                       [[maybe_unused]] uint64_t* barrier) {
#if defined(__CUDA_ARCH__)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, "
        "[%2];" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
        "l"(from), "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
        : "memory");
#endif
  }
};

}  // namespace store
