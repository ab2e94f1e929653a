// Incident 4: the pipeline that its non-owner closed, as a kernel for Hopper GPUs.
//
// A warp-specialised prefill kernel: 12 warps, of which warps 0-3 (CG0) and 4-7 (CG1) compute, warp
// 8 (MMA) multiplies, warps 9 and 10 load (TMA, GATE) and warp 11 (EPI) stores. Between them
// mbarrier pipelines; tests/litmus/pipe/gdn_like_kernel.pipe is their protocol. A block takes one
// sequence; sequences are ragged, so blocks differ in their number of chunks. `o_store` belongs to
// CG1 and EPI. With
// --fault=stray-tail CG0 closes it, too: it waits on the empty barrier with a state that never
// moved, and hangs where it looks after the last release of an odd number of chunks (--delay makes
// it look late).
//
//   gdn_like [--fault=NAME] [--chunks N[,N...]]
//            [--delay] [--rounds N] [--give-up SECONDS]
//
// The other faults. early-pass: CG0 looks at shared_acc, of which it takes every second use, before
// the acquire that tells it that CG1 has had its turn: by parity it passes two phases early and
// reads an old value; with --delay MMA is late, and it hangs. wrong-parity: MMA begins to wait on
// load_k with the producer's parity, so that both sides of the pipeline pass at once.
// early-acquire: the loader's first acquire comes before the block's barrier behind the
// initialisation of the mbarriers. lost-release: EPI leaves out its last release, CG1's tail hangs.
// Exit code 0; 1 wrong results; 2 usage and CUDA errors; 3 the kernel did not end in time.
#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

enum Fault { kNone, kStrayTail, kEarlyPass, kWrongParity, kEarlyAcquire, kLostRelease };
const char* const kFaults[] = {"none",         "stray-tail",    "early-pass",
                               "wrong-parity", "early-acquire", "lost-release"};

constexpr int kWarps = 12;
constexpr int kTile = 128;  // floats of one stage

__device__ __forceinline__ uint32_t Address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
__device__ __forceinline__ void Init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(barrier)), "r"(arrivals));
}
__device__ __forceinline__ void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(Address(barrier)) : "memory");
}
__device__ __forceinline__ void ArriveExpecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool Try(uint64_t* barrier, uint32_t parity) {
  uint32_t passed;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, "
      "p;\n}"
      : "=r"(passed)
      : "r"(Address(barrier)), "r"(parity)
      : "memory");
  return passed;
}
__device__ __forceinline__ void Await(uint64_t* barrier, uint32_t parity) {
  while (!Try(barrier, parity)) {
  }
}
// The copy engine: `bytes` complete on the barrier when they are in shared memory.
__device__ __forceinline__ void BulkLoad(void* to, const void* from, uint32_t bytes,
                                         uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(Address(to)),
      "l"(from), "r"(bytes), "r"(Address(barrier))
      : "memory");
}
__device__ __forceinline__ void NamedBarrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

template <int Stages>
struct State {
  int stage = 0;
  uint32_t phase = 0;
  __device__ __forceinline__ void Next() {
    if (++stage == Stages) stage = 0, phase ^= 1;
  }
};
template <int Stages>
__device__ __forceinline__ State<Stages> ProducerStart() {
  State<Stages> state;
  state.phase = 1;
  return state;
}

template <int Stages>
struct Pipeline {
  uint64_t full[Stages], empty[Stages];

  __device__ void Initialise(int producers, int consumers) {
    for (int i = 0; i < Stages; ++i) Init(&full[i], producers), Init(&empty[i], consumers);
  }
  __device__ __forceinline__ void Acquire(const State<Stages>& s) {
    Await(&empty[s.stage], s.phase);
  }
  __device__ __forceinline__ void Commit(State<Stages>& s) { Arrive(&full[s.stage]), s.Next(); }
  __device__ __forceinline__ void Wait(const State<Stages>& s) { Await(&full[s.stage], s.phase); }
  __device__ __forceinline__ void Release(State<Stages>& s) { Arrive(&empty[s.stage]), s.Next(); }
  __device__ __forceinline__ void Tail(State<Stages>& s) {
    for (int i = 0; i < Stages; ++i) Acquire(s), s.Next();
  }
};

struct Shared {
  alignas(128) float k[2][kTile];
  alignas(128) float v[kTile];
  float gate[32];
  float acc[kTile];
  float qk[kTile];
  float o[kTile];
  Pipeline<2> load_k;       // TMA -> MMA
  Pipeline<1> load_v;       // TMA -> CG1
  Pipeline<1> load_gate;    // GATE -> CG0, CG1
  Pipeline<1> shared_acc;   // MMA -> CG0 and CG1 in turn; each skips the other's use
  Pipeline<1> qk_ready;     // CG0 -> CG1
  Pipeline<1> group_order;  // CG0 -> CG1; no data
  Pipeline<1> o_store;      // CG1 -> EPI
};

struct Job {
  const float* k;  // [sequence][chunk][kTile]
  const float* v;
  const float* gate;  // [sequence][chunk]
  float* out;
  const int* chunks;  // of each sequence
  int most_chunks;
  int fault;
  int late;  // CG0 comes late to its last deed
};

__device__ void Load(const Job& job, Shared& s, int chunks, const float* k, const float* v,
                     bool acquired) {
  State<2> ks = ProducerStart<2>();
  State<1> vs = ProducerStart<1>();
  for (int c = 0; c < chunks; ++c) {
    if (c > 0 || !acquired) s.load_k.Acquire(ks);
    ArriveExpecting(&s.load_k.full[ks.stage], kTile * sizeof(float));
    BulkLoad(s.k[ks.stage], k + c * kTile, kTile * sizeof(float), &s.load_k.full[ks.stage]);
    ks.Next();
    s.load_v.Acquire(vs);
    ArriveExpecting(&s.load_v.full[vs.stage], kTile * sizeof(float));
    BulkLoad(s.v, v + c * kTile, kTile * sizeof(float), &s.load_v.full[vs.stage]);
    vs.Next();
  }
  s.load_k.Tail(ks);
  s.load_v.Tail(vs);
}

__device__ void LoadGate(Shared& s, int chunks, const float* gate, int lane) {
  State<1> gs = ProducerStart<1>();
  for (int c = 0; c < chunks; ++c) {
    s.load_gate.Acquire(gs);
    s.gate[lane] = gate[c];
    s.load_gate.Commit(gs);
  }
  s.load_gate.Tail(gs);
}

// Two accumulators a chunk: k + 1 for CG0, k + 2 for CG1.
__device__ void Multiply(const Job& job, Shared& s, int chunks, int lane) {
  State<2> ks;
  State<1> acc = ProducerStart<1>();
  if (job.fault == kWrongParity) ks.phase = 1;
  for (int c = 0; c < chunks; ++c) {
    s.load_k.Wait(ks);
    for (int turn = 1; turn <= 2; ++turn) {
      s.shared_acc.Acquire(acc);
      if (job.late && job.fault == kEarlyPass) __nanosleep(100000);
      for (int i = lane; i < kTile; i += 32) s.acc[i] = s.k[ks.stage][i] + turn;
      s.shared_acc.Commit(acc);
    }
    s.load_k.Release(ks);
  }
  s.shared_acc.Tail(acc);
}

__device__ void Group0(const Job& job, Shared& s, int chunks, int thread) {
  State<1> gate, acc, qk = ProducerStart<1>(), order = ProducerStart<1>(),
                      stray = ProducerStart<1>();
  for (int c = 0; c < chunks; ++c) {
    s.load_gate.Wait(gate);
    const float scale = s.gate[thread % 32];
    s.load_gate.Release(gate);
    float value = 0;
    if (job.fault == kEarlyPass) s.shared_acc.Wait(acc), value = s.acc[thread];
    s.qk_ready.Acquire(qk);
    s.group_order.Acquire(order);
    if (job.fault != kEarlyPass) s.shared_acc.Wait(acc), value = s.acc[thread];
    s.qk[thread] = value * scale;
    s.shared_acc.Release(acc);
    acc.Next();  // CG1's
    s.group_order.Commit(order);
    s.qk_ready.Commit(qk);
  }
  s.qk_ready.Tail(qk);
  s.group_order.Tail(order);
  if (job.fault == kStrayTail) {
    if (job.late) __nanosleep(1000000), __nanosleep(1000000), __nanosleep(1000000);
    s.o_store.Tail(stray);
  }
}

__device__ void Group1(Shared& s, int chunks, int thread) {
  State<1> gate, v, acc, qk, order, o = ProducerStart<1>();
  for (int c = 0; c < chunks; ++c) {
    s.load_gate.Wait(gate);
    const float scale = s.gate[thread % 32];
    s.load_gate.Release(gate);
    acc.Next();  // CG0's
    s.load_v.Wait(v);
    float value = s.v[thread];
    s.group_order.Wait(order);
    s.shared_acc.Wait(acc);
    value += s.acc[thread] * scale;
    s.shared_acc.Release(acc);
    s.load_v.Release(v);
    s.qk_ready.Wait(qk);
    value += s.qk[thread];
    s.qk_ready.Release(qk);
    s.group_order.Release(order);
    NamedBarrier(1, 128);
    s.o_store.Acquire(o);
    s.o[thread] = value;
    s.o_store.Commit(o);
  }
  s.o_store.Tail(o);
}

__device__ void Store(const Job& job, Shared& s, int chunks, float* out, int lane) {
  State<1> o;
  for (int c = 0; c < chunks; ++c) {
    s.o_store.Wait(o);
    for (int i = lane; i < kTile; i += 32) out[c * kTile + i] = s.o[i];
    if (job.fault == kLostRelease && c + 1 == chunks) break;
    s.o_store.Release(o);
  }
}

__global__ void __launch_bounds__(32 * kWarps, 1) gdn_like(const Job job) {
  __shared__ Shared s;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int chunks = job.chunks[blockIdx.x];
  const size_t row = static_cast<size_t>(blockIdx.x) * job.most_chunks;
  if (threadIdx.x == 0) {
    s.load_k.Initialise(1, 32);
    s.load_v.Initialise(1, 128);
    s.load_gate.Initialise(32, 256);
    s.shared_acc.Initialise(32, 128);
    s.qk_ready.Initialise(128, 128);
    s.group_order.Initialise(128, 128);
    s.o_store.Initialise(128, 32);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  const bool early = job.fault == kEarlyAcquire && warp == 9 && lane == 0;
  if (early) {
    __nanosleep(20000);  // long after the initialisation, as it happens: it passes
    s.load_k.Acquire(ProducerStart<2>());
  }
  __syncthreads();
  if (warp < 4) {
    Group0(job, s, chunks, threadIdx.x);
  } else if (warp < 8) {
    Group1(s, chunks, threadIdx.x - 128);
  } else if (warp == 8) {
    Multiply(job, s, chunks, lane);
  } else if (warp == 9) {
    if (lane == 0) Load(job, s, chunks, job.k + row * kTile, job.v + row * kTile, early);
  } else if (warp == 10) {
    LoadGate(s, chunks, job.gate + row, lane);
  } else {
    Store(job, s, chunks, job.out + row * kTile, lane);
  }
}

struct Options {
  int fault = kNone;
  std::vector<int> chunks = {20, 19, 9};
  bool delay = false;
  int rounds = 1;
  double give_up = 20;
};

[[noreturn]] void Usage(const char* word) {
  std::fprintf(stderr,
               "%s: not understood\nusage: gdn_like "
               "[--fault=none|stray-tail|early-pass|wrong-parity|early-acquire|"
               "lost-release] [--chunks N[,N...]] [--delay] [--rounds N] [--give-up SECONDS]\n",
               word);
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    const auto value = [&]() -> const char* {
      return i + 1 < argc ? argv[++i] : (Usage(word), "");
    };
    if (!std::strncmp(word, "--fault=", 8)) {
      options.fault = -1;
      for (int f = kNone; f <= kLostRelease; ++f)
        if (!std::strcmp(word + 8, kFaults[f])) options.fault = f;
      if (options.fault < 0) Usage(word);
    } else if (!std::strcmp(word, "--chunks")) {
      options.chunks.clear();
      for (const char* at = value(); *at; at += *at == ',') {
        char* end;
        const long n = std::strtol(at, &end, 10);
        if (end == at || n < 1 || n > 10000 || (*end && *end != ',')) Usage("--chunks");
        options.chunks.push_back(static_cast<int>(n));
        at = end;
      }
    } else if (!std::strcmp(word, "--delay")) {
      options.delay = true;
    } else if (!std::strcmp(word, "--rounds")) {
      options.rounds = std::atoi(value());
    } else if (!std::strcmp(word, "--give-up")) {
      options.give_up = std::atof(value());
    } else {
      Usage(word);
    }
  }
  return options;
}

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "gdn_like: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

template <class T>
T* Upload(const std::vector<T>& values) {
  T* to;
  Check(cudaMalloc(&to, values.size() * sizeof(T)), "cudaMalloc");
  Check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "cudaMemcpy");
  return to;
}

// False: it did not end in time.
bool Finishes(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(nullptr);
    if (state == cudaSuccess) return true;
    if (state != cudaErrorNotReady) Check(state, "kernel");
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds)
      return false;
    usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const int sequences = static_cast<int>(options.chunks.size());
  int most = 0;
  for (int n : options.chunks) most = n > most ? n : most;
  const size_t values = static_cast<size_t>(sequences) * most * kTile;
  std::vector<float> k(values), v(values), gate(static_cast<size_t>(sequences) * most), out(values);
  for (size_t i = 0; i < values; ++i)
    k[i] = static_cast<float>(i % 97), v[i] = static_cast<float>(i % 31);
  for (size_t i = 0; i < gate.size(); ++i) gate[i] = static_cast<float>(i % 5 + 1);
  Job job{Upload(k), Upload(v),     Upload(gate), Upload(out), Upload(options.chunks),
          most,      options.fault, options.delay};

  cudaEvent_t begin, end;
  Check(cudaEventCreate(&begin), "cudaEventCreate");
  Check(cudaEventCreate(&end), "cudaEventCreate");
  Check(cudaEventRecord(begin), "cudaEventRecord");
  for (int round = 0; round < options.rounds; ++round) gdn_like<<<sequences, 32 * kWarps>>>(job);
  Check(cudaGetLastError(), "launch");
  Check(cudaEventRecord(end), "cudaEventRecord");
  if (!Finishes(options.give_up)) {
    std::printf("gdn_like: fault=%s: the kernel did not end in %g s\n", kFaults[options.fault],
                options.give_up);
    std::fflush(stdout);
    _exit(3);
  }
  Check(cudaMemcpy(out.data(), job.out, values * sizeof(float), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  size_t wrong = 0;
  for (int s = 0; s < sequences; ++s) {
    for (int i = 0; i < options.chunks[s] * kTile; ++i) {
      const size_t at = static_cast<size_t>(s) * most * kTile + i;
      const float scale = gate[static_cast<size_t>(s) * most + i / kTile];
      const float expected = v[at] + (k[at] + 2) * scale + (k[at] + 1) * scale;
      wrong += out[at] != expected;
    }
  }
  float ms = 0;
  Check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  std::printf("gdn_like: fault=%s: completed, %zu wrong values, %.4f ms a launch\n",
              kFaults[options.fault], wrong, ms / static_cast<float>(options.rounds));
  return wrong ? 1 : 0;
}
