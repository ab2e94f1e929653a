// Pipelines between the roles of a kernel whose misuse does not compile. Header only.
//
//   namespace safe = streamsan::safe;
//   struct Cg1 : safe::Role<4, 4> {};  // warps 4 to 7
//   struct Epi : safe::Role<11, 1> {};
//   struct OStore : safe::Pipe<1, safe::Producers<Cg1>, safe::Consumers<Epi>> {
//     static constexpr char name[] = "o_store";
//   };
//   struct Kernel {
//     using Roles = safe::List<Cg1, Epi>;
//     using Pipes = safe::List<OStore>;
//     template <class Me> STREAMSAN_SAFE_BOTH static void Run(Me& me, int chunks) {
//       if constexpr (Me::template Is<Cg1>) {
//         auto out = me.template Producer<OStore>();
//         for (int c = 0; c < chunks; ++c) {
//           out.Acquire();
//           me.Work([&] { ... write stage out.Stage() ... });
//           out.Commit();
//         }
//         std::move(out).Tail();
//       } else { ... me.template Consumer<OStore>() ... }
//     }
//   };
//   __global__ void kernel(int chunks) {
//     __shared__ safe::Barriers<Kernel> barriers;
//     safe::RunRoles<Kernel>(barriers, chunks);
//   }
//   std::string pipe = safe::Describe<Kernel>(5);  // for `streamsan pipeline check`
//
// A handle of a side is made only by a role that is declared there: a stranger's Acquire, Commit,
// Tail, Wait or Release does not compile. Its state moves with its use. Tail takes the handle with
// it. The same Run is executed by the GPU and, with a Me that writes down what it is asked, by the
// host: what is checked is what runs. The handles hold an index and a phase bit, as code by hand
// does, and compile to the same instructions.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__CUDACC__)
#define STREAMSAN_SAFE_BOTH __host__ __device__ __forceinline__
#define STREAMSAN_SAFE_DEVICE __device__ __forceinline__
#else
#define STREAMSAN_SAFE_BOTH inline
#endif

namespace streamsan::safe {

template <class... T>
struct List {
  template <class U>
  static constexpr bool kHas = (std::is_same_v<T, U> || ...);
};

// Warps `First` to `First + Warps - 1`, of each of which `Threads` threads arrive and run the role.
template <int First, int Warps, int Threads = 32>
struct Role {
  static constexpr int first_warp = First;
  static constexpr int warps = Warps;
  static constexpr int threads = Threads;
};

// Every role of the side arrives in each phase; with TakeTurns, one of them (the others Skip it).
template <class... Roles>
struct Producers : List<Roles...> {
  static constexpr int arrivals = (0 + ... + (Roles::warps * Roles::threads));
  static constexpr int agents = (0 + ... + Roles::warps);
  using All = List<Roles...>;
};
template <class... Roles>
struct Consumers : Producers<Roles...> {};
template <class Side>
struct TakeTurns;
template <template <class...> class Side, class First, class... Rest>
struct TakeTurns<Side<First, Rest...>> : Side<First, Rest...> {
  static constexpr int arrivals = First::warps * First::threads;
  static constexpr int agents = First::warps;
  static_assert(((Rest::warps * Rest::threads == arrivals) && ...),
                "roles that take turns are of one size");
};

template <int Stages, class ProducerSide, class ConsumerSide>
struct Pipe {
  static_assert(Stages >= 1, "a pipeline has at least one stage");
  static constexpr int stages = Stages;
  using Producing = ProducerSide;
  using Consuming = ConsumerSide;
};

// Where a role stands: the slot and the parity of its lap. `producer`: one lap of free slots ahead.
template <int Stages>
struct State {
  int index = 0;
  uint32_t phase = 0;
  STREAMSAN_SAFE_BOTH void Next() {
    if (++index == Stages) {
      index = 0;
      phase ^= 1;
    }
  }
};

template <class P, class Backend>
class ProducerOf {
 public:
  STREAMSAN_SAFE_BOTH explicit ProducerOf(Backend& backend) : backend_(backend) {
    state_.phase = 1;
  }
  ProducerOf(ProducerOf&&) = default;
  ProducerOf(const ProducerOf&) = delete;
  ProducerOf& operator=(const ProducerOf&) = delete;

  STREAMSAN_SAFE_BOTH int Stage() const { return state_.index; }
  STREAMSAN_SAFE_BOTH void Acquire() {
    backend_.template AwaitEmpty<P>("acquire", state_.index, state_.phase);
  }
  STREAMSAN_SAFE_BOTH void Commit() {
    backend_.template ArriveFull<P>("commit", state_.index);
    state_.Next();
  }
  // Arrives, expects `bytes` more, and hands the barrier to `issue`, whose copies complete on it.
  template <class Issue>
  STREAMSAN_SAFE_BOTH void CommitCopies(uint32_t bytes, Issue&& issue) {
    backend_.template ArriveFullExpecting<P>(state_.index, bytes, issue);
    state_.Next();
  }
  // A turn of another role.
  STREAMSAN_SAFE_BOTH void Skip() {
    backend_.template Skipped<P>();
    state_.Next();
  }
  // Waits until every slot is free again: the last thing that the owner does with it.
  STREAMSAN_SAFE_BOTH void Tail() && {
    backend_.template Closing<P>();
    for (int i = 0; i < P::stages; ++i) {
      backend_.template AwaitEmpty<P>("", state_.index, state_.phase);
      state_.Next();
    }
  }

 private:
  Backend& backend_;
  State<P::stages> state_;
};

template <class P, class Backend>
class ConsumerOf {
 public:
  STREAMSAN_SAFE_BOTH explicit ConsumerOf(Backend& backend) : backend_(backend) {}
  ConsumerOf(ConsumerOf&&) = default;
  ConsumerOf(const ConsumerOf&) = delete;
  ConsumerOf& operator=(const ConsumerOf&) = delete;

  STREAMSAN_SAFE_BOTH int Stage() const { return state_.index; }
  STREAMSAN_SAFE_BOTH void Wait() { backend_.template AwaitFull<P>(state_.index, state_.phase); }
  STREAMSAN_SAFE_BOTH void Release() {
    backend_.template ArriveEmpty<P>(state_.index);
    state_.Next();
  }
  STREAMSAN_SAFE_BOTH void Skip() {
    backend_.template Skipped<P>();
    state_.Next();
  }

 private:
  Backend& backend_;
  State<P::stages> state_;
};

// What a role's code gets: itself. Only RunRoles and Describe make one.
template <class R, class Backend>
class Me {
 public:
  template <class Other>
  static constexpr bool Is = std::is_same_v<R, Other>;

  template <class P>
  STREAMSAN_SAFE_BOTH auto Producer() {
    static_assert(P::Producing::template kHas<R>, "this role is no producer of this pipeline");
    return ProducerOf<P, Backend>(backend_);
  }
  template <class P>
  STREAMSAN_SAFE_BOTH auto Consumer() {
    static_assert(P::Consuming::template kHas<R>, "this role is no consumer of this pipeline");
    return ConsumerOf<P, Backend>(backend_);
  }
  // What is neither waiting nor arriving: left out where the role is only described.
  template <class F>
  STREAMSAN_SAFE_BOTH void Work(F&& work) {
    if constexpr (Backend::kRuns) work();
  }

 private:
  template <class, class...>
  friend struct Describing;
  template <class>
  friend struct Running;
  STREAMSAN_SAFE_BOTH explicit Me(Backend& backend) : backend_(backend) {}
  Backend& backend_;
};

// ---- the host's side: what the roles do, as a .pipe file

class Describer {
 public:
  static constexpr bool kRuns = false;

  template <class P>
  void AwaitEmpty(const char* word, int, uint32_t) {
    if (*word) Say<P>(word);
  }
  template <class P>
  void ArriveFull(const char* word, int) {
    Say<P>("write");
    Say<P>(word);
  }
  template <class P, class Issue>
  void ArriveFullExpecting(int, uint32_t, Issue&&) {
    ArriveFull<P>("commit", 0);
  }
  template <class P>
  void AwaitFull(int, uint32_t) {
    Say<P>("wait");
    Say<P>("read");
  }
  template <class P>
  void ArriveEmpty(int) {
    Say<P>("release");
  }
  template <class P>
  void Skipped() {
    Say<P>("advance");
  }
  template <class P>
  void Closing() {
    Say<P>("tail");
  }

  std::string text;

 private:
  template <class P>
  void Say(const char* word) {
    text += std::string("  ") + word + " " + P::name + "\n";
  }
};

template <class Kernel, class... Roles>
struct Describing {
  template <class... R>
  static std::string Names(List<R...>) {
    std::string names;
    ((names += std::string(" ") + R::name), ...);
    return names;
  }
  template <class P>
  static std::string Declare() {
    return std::string("pipeline ") + P::name + " stages " + std::to_string(P::stages) +
           " producers" + Names(typename P::Producing::All{}) + " arrivals " +
           std::to_string(P::Producing::agents) + " consumers" +
           Names(typename P::Consuming::All{}) + " arrivals " +
           std::to_string(P::Consuming::agents) + "\n";
  }
  template <class... P>
  static std::string DeclareAll(List<P...>) {
    return (std::string() + ... + Declare<P>());
  }
  template <class R, class... Arguments>
  static std::string Body(const Arguments&... arguments) {
    Describer describer;
    Me<R, Describer> me(describer);
    Kernel::Run(me, arguments...);
    return std::string("role ") + R::name + " warps " + std::to_string(R::warps) + " {\n" +
           describer.text + "}\n";
  }
};

namespace detail {
template <class Kernel, class... R, class... Arguments>
std::string DescribeRoles(List<R...>, const Arguments&... arguments) {
  using D = Describing<Kernel, R...>;
  return D::DeclareAll(typename Kernel::Pipes{}) +
         (std::string() + ... + D::template Body<R>(arguments...));
}
}  // namespace detail

// The protocol as `streamsan pipeline check` reads it. Roles and pipelines have a `name` for it.
template <class Kernel, class... Arguments>
std::string Describe(const Arguments&... arguments) {
  return detail::DescribeRoles<Kernel>(typename Kernel::Roles{}, arguments...);
}

// ---- the GPU's side

namespace detail {
// Where a pipeline's words begin: behind those of the pipelines before it in the list. Variables,
// since the GPU's code may call no constexpr function of the host.
template <class P, class L>
constexpr int kBegin = 0;
template <class P, class First, class... Rest>
constexpr int kBegin<P, List<First, Rest...>> =
    std::is_same_v<P, First> ? 0 : 2 * First::stages + kBegin<P, List<Rest...>>;
template <class L>
constexpr int kWords = 0;
template <class... P>
constexpr int kWords<List<P...>> = (0 + ... + (2 * P::stages));
}  // namespace detail

// All mbarriers of a kernel, full ones first in each pipeline; in shared memory. One array, as base
// classes would cost a test for null at every use.
template <class Kernel>
struct Barriers {
  uint64_t words[detail::kWords<typename Kernel::Pipes>];

  template <class P>
  STREAMSAN_SAFE_BOTH uint64_t* Full(int stage) {
    return words + detail::kBegin<P, typename Kernel::Pipes> + stage;
  }
  template <class P>
  STREAMSAN_SAFE_BOTH uint64_t* Empty(int stage) {
    return Full<P>(P::stages + stage);
  }
};

#if defined(__CUDACC__)

namespace detail {
STREAMSAN_SAFE_DEVICE uint32_t SharedAddress(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}
STREAMSAN_SAFE_DEVICE void Init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(arrivals));
}
STREAMSAN_SAFE_DEVICE void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}
STREAMSAN_SAFE_DEVICE void ArriveExpecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}
STREAMSAN_SAFE_DEVICE void Await(uint64_t* barrier, uint32_t parity) {
  uint32_t passed;
  do {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, "
        "0, p;\n}"
        : "=r"(passed)
        : "r"(SharedAddress(barrier)), "r"(parity)
        : "memory");
  } while (!passed);
}
}  // namespace detail

template <class Kernel>
class Runner {
 public:
  static constexpr bool kRuns = true;
  STREAMSAN_SAFE_DEVICE explicit Runner(Barriers<Kernel>& barriers) : barriers_(barriers) {}

  template <class P>
  STREAMSAN_SAFE_DEVICE void AwaitEmpty(const char*, int stage, uint32_t phase) {
    detail::Await(barriers_.template Empty<P>(stage), phase);
  }
  template <class P>
  STREAMSAN_SAFE_DEVICE void ArriveFull(const char*, int stage) {
    detail::Arrive(barriers_.template Full<P>(stage));
  }
  template <class P, class Issue>
  STREAMSAN_SAFE_DEVICE void ArriveFullExpecting(int stage, uint32_t bytes, Issue&& issue) {
    uint64_t* barrier = barriers_.template Full<P>(stage);
    detail::ArriveExpecting(barrier, bytes);
    issue(barrier);
  }
  template <class P>
  STREAMSAN_SAFE_DEVICE void AwaitFull(int stage, uint32_t phase) {
    detail::Await(barriers_.template Full<P>(stage), phase);
  }
  template <class P>
  STREAMSAN_SAFE_DEVICE void ArriveEmpty(int stage) {
    detail::Arrive(barriers_.template Empty<P>(stage));
  }
  template <class P>
  STREAMSAN_SAFE_DEVICE void Skipped() {}
  template <class P>
  STREAMSAN_SAFE_DEVICE void Closing() {}

 private:
  Barriers<Kernel>& barriers_;
};

template <class Kernel>
struct Running {
  template <class P>
  STREAMSAN_SAFE_DEVICE static void Initialise(Barriers<Kernel>& barriers) {
    for (int i = 0; i < P::stages; ++i) {
      detail::Init(barriers.template Full<P>(i), P::Producing::arrivals);
      detail::Init(barriers.template Empty<P>(i), P::Consuming::arrivals);
    }
  }
  template <class... P>
  STREAMSAN_SAFE_DEVICE static void InitialiseAll(Barriers<Kernel>& barriers, List<P...>) {
    (Initialise<P>(barriers), ...);
  }
  template <class R, class... Arguments>
  STREAMSAN_SAFE_DEVICE static void Branch(const int& warp, const int& lane,
                                           Barriers<Kernel>& barriers,
                                           const Arguments&... arguments) {
    if (warp >= R::first_warp && warp < R::first_warp + R::warps &&
        (R::threads == 32 || lane < R::threads)) {
      Runner<Kernel> runner(barriers);
      Me<R, Runner<Kernel>> me(runner);
      Kernel::Run(me, arguments...);
    }
  }
  template <class... R, class... Arguments>
  STREAMSAN_SAFE_DEVICE static void Branches(const int& warp, const int& lane,
                                             Barriers<Kernel>& barriers, List<R...>,
                                             const Arguments&... arguments) {
    (Branch<R>(warp, lane, barriers, arguments...), ...);
  }
};

// Initialises the barriers, lets the whole block see that, and runs each warp's role.
// One-dimensional blocks.
template <class Kernel, class... Arguments>
STREAMSAN_SAFE_DEVICE void RunRoles(Barriers<Kernel>& barriers, const Arguments&... arguments) {
  if (threadIdx.x == 0) {
    Running<Kernel>::InitialiseAll(barriers, typename Kernel::Pipes{});
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Running<Kernel>::Branches(warp, lane, barriers, typename Kernel::Roles{}, arguments...);
}

#endif  // __CUDACC__

}  // namespace streamsan::safe
