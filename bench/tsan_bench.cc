// The same recorded operations through ThreadSanitizer's runtime, annotated as CuSan does it: a
// fiber per stream; a launch switches to its stream's fiber, which then knows what the host knew,
// marks every range as read or written, and switches back without teaching the host anything;
// events and synchronisations are a release on one side and an acquire on the other.
//
//   tsan_bench    a RATIO line a block size; engine_bench has to lie beside it
// --omit-waits leaves the waits out of the workload: the runtime must report races then.
//
// In ThreadSanitizer's favour: only what it would have to do for the order of device work is done
// (no allocation tracking, no implicit order of the default stream beyond the events in the
// operations, no hand-over between host threads, releases only where something may acquire them,
// where CuSan releases after every launch); this file is not instrumented, so that the annotations
// alone are timed. The block size changes what ThreadSanitizer does only, whose work goes by the
// byte (CuSan marks whole allocations): 64 bytes, of which eighths are touched too, are the least
// that keeps the ranges apart and no real size; 512 is PyTorch's smallest block; 4 KiB, 64 KiB and
// 1 MiB are small and middling tensors. Each round measures both sides.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/operation_file.h"
#include "bench/timing.h"

extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void __tsan_read_range(void* address, unsigned long size);
void __tsan_write_range(void* address, unsigned long size);
}

namespace ss::bench {
namespace {

constexpr unsigned kSynchronised = 0, kNoSync = 1;  // flags of __tsan_switch_to_fiber

uint64_t reports = 0;

// As ThreadSeconds(), past the runtime's interceptor: it would count the writing of `now` by
// several fibers.
double Seconds() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Nominal blocks, wherever they lie, to areas of the wanted size side by side.
class Areas {
 public:
  Areas(const Program& program, uint64_t block_bytes) : bytes_(block_bytes) {
    for (const Access& access : program.accesses) {
      for (uint64_t at = access.begin / kBlockBytes; at * kBlockBytes < access.end; ++at) {
        places_.emplace(at, places_.size());
      }
    }
    size_ = places_.size() * bytes_;
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      perror("tsan_bench: mmap");
      exit(2);
    }
    base_ = static_cast<char*>(memory);
  }
  ~Areas() { munmap(base_, size_); }  // the runtime forgets what it knew of it
  Areas(const Areas&) = delete;
  Areas& operator=(const Areas&) = delete;

  void Mark(const Access& access) const {
    uint64_t place = places_.at(access.begin / kBlockBytes) * bytes_;
    uint64_t begin = Scale(access.begin % kBlockBytes);
    uint64_t size = std::max<uint64_t>(Scale(access.end - access.begin), 8);
    char* address = base_ + place + begin;
    if (access.mode & kWrite) {
      __tsan_write_range(address, size);
    } else {
      __tsan_read_range(address, size);
    }
  }

 private:
  uint64_t Scale(uint64_t offset) const { return offset * bytes_ / kBlockBytes / 8 * 8; }

  uint64_t bytes_, size_ = 0;
  char* base_ = nullptr;
  std::unordered_map<uint64_t, uint64_t> places_;
};

class Runner {
 public:
  Runner(const Program& program, const Areas& areas) : program_(program), areas_(areas) {
    host_ = __tsan_get_current_fiber();
    hosts_[0] = host_;
  }
  ~Runner() {
    __tsan_switch_to_fiber(hosts_[0], kNoSync);
    for (auto& [id, fiber] : streams_) __tsan_destroy_fiber(fiber);
    for (auto& [id, fiber] : hosts_) {
      if (id != 0) __tsan_destroy_fiber(fiber);
    }
  }

  void Feed(const Op& op) {
    Become(op.host);
    switch (op.kind) {
      case OpKind::kKernel:
      case OpKind::kCopy:
      case OpKind::kMemset:
      case OpKind::kAllocAsync:
      case OpKind::kFreeAsync:
        return Launch(op);
      case OpKind::kHostAccess:
        return Mark(op);
      case OpKind::kEventRecord:
        return OnStream(op, [&] { __tsan_release(Key(op.object)); });
      case OpKind::kStreamWaitEvent:
        return OnStream(op, [&] { __tsan_acquire(Key(op.object)); });
      case OpKind::kEventSync:
        __tsan_acquire(Key(op.object));
        return;
      case OpKind::kEventQuery:
        if (!(op.flags & kNotReady)) __tsan_acquire(Key(op.object));
        return;
      case OpKind::kStreamSync:
        return Synchronise(op.stream);
      case OpKind::kDeviceSync:
        for (auto& [id, fiber] : streams_) Synchronise(id);
        return;
      case OpKind::kStreamDestroy:
        return Destroy(op.stream);
      case OpKind::kHostEnd:
        return End(op.host);
      default:
        return;
    }
  }

 private:
  // An address that stands for the event, or for all of a stream. Nothing is stored there.
  static void* Key(uint64_t id) { return reinterpret_cast<void*>(keys_ + id % kKeys * 8); }

  void* Stream(StreamId id) {
    void*& fiber = streams_[id];
    if (fiber == nullptr) fiber = __tsan_create_fiber(0);
    return fiber;
  }

  void Become(HostId id) {
    if (id == host_id_) return;
    void*& fiber = hosts_[id];
    if (fiber == nullptr) fiber = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(fiber, kNoSync);
    host_ = fiber;
    host_id_ = id;
  }

  template <typename F>
  void OnStream(const Op& op, F act) {
    __tsan_switch_to_fiber(Stream(op.stream), kSynchronised);
    act();
    __tsan_switch_to_fiber(host_, kNoSync);
  }

  void Mark(const Op& op) {
    for (uint32_t i = 0; i < op.access_count; ++i)
      areas_.Mark(program_.accesses[op.access_begin + i]);
  }
  void Launch(const Op& op) {
    OnStream(op, [&] { Mark(op); });
  }

  void Synchronise(StreamId id) {
    void* key = Key(kKeys - 1 - id);
    __tsan_switch_to_fiber(Stream(id), kNoSync);
    __tsan_release(key);
    __tsan_switch_to_fiber(host_, kNoSync);
    __tsan_acquire(key);
  }

  void Destroy(StreamId id) {
    auto found = streams_.find(id);
    if (found == streams_.end()) return;
    __tsan_destroy_fiber(found->second);
    streams_.erase(found);
  }

  void End(HostId id) {
    Become(0);
    auto found = hosts_.find(id);
    if (found == hosts_.end()) return;
    __tsan_destroy_fiber(found->second);
    hosts_.erase(found);
  }

  static constexpr uint64_t kKeys = 1 << 16;
  static inline char keys_[kKeys * 8];

  const Program& program_;
  const Areas& areas_;
  void* host_ = nullptr;
  HostId host_id_ = 0;
  std::unordered_map<HostId, void*> hosts_;
  std::unordered_map<StreamId, void*> streams_;
};

constexpr int kRounds = 5;
constexpr uint64_t kOperations = 300'000;
// Large blocks take a millisecond an operation: the rate is known long before all are done.
constexpr uint64_t kWarmUp = 6'000;  // two steps: the runtime's own memory is there then
constexpr double kSeconds = 3;

double Rate(const Program& program, uint64_t block_bytes) {
  Areas areas(program, block_bytes);
  Runner runner(program, areas);
  double start = 0;
  uint64_t fed = 0;
  for (const Op& op : program.ops) {
    if (fed == kWarmUp) start = Seconds();
    runner.Feed(op);
    ++fed;
    if (fed > kWarmUp && fed % 64 == 0 && Seconds() - start > kSeconds) break;
  }
  return static_cast<double>(fed - kWarmUp) / (Seconds() - start);
}

// The engine in a process of its own: the runtime's allocator would slow it down in this one.
double EngineRate(const std::string& folder, const std::string& operations) {
  std::string command = folder + "/engine_bench --time " + operations;
  FILE* pipe = popen(command.c_str(), "r");
  double rate = 0;
  char line[256];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    if (std::strncmp(line, "RATE ", 5) == 0) rate = std::strtod(line + 5, nullptr);
  }
  if (pipe == nullptr || pclose(pipe) != 0 || rate == 0) {
    std::fprintf(stderr, "tsan_bench: '%s' gave no rate\n", command.c_str());
    std::exit(2);
  }
  return rate;
}

std::string OwnFolder(const char* program) {
  std::string path = program;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

double Compare(const Program& program, const std::string& folder, const std::string& operations,
               uint64_t block_bytes) {
  std::vector<double> ratios, rates;
  for (int round = 0; round < kRounds; ++round) {
    rates.push_back(Rate(program, block_bytes));
    ratios.push_back(EngineRate(folder, operations) / rates.back());
  }
  std::printf("blocks of %" PRIu64
              " bytes: ThreadSanitizer %.0f operations a second, median of %d rounds; "
              "%" PRIu64 " reports so far\n",
              block_bytes, Median(rates), kRounds, reports);
  std::fflush(stdout);
  return Median(ratios);
}

int Main(int argc, char** argv) {
  WorkloadOptions options;
  options.omit_waits = argc == 2 && std::strcmp(argv[1], "--omit-waits") == 0;
  if (argc > 1 && !options.omit_waits) {
    std::fprintf(stderr, "usage: tsan_bench [--omit-waits]\n");
    return 2;
  }
  std::string folder = OwnFolder(argv[0]), operations = folder + "/../tsan_bench.operations";
  Program program;
  auto done = WriteOperations(operations, options, kOperations).and_then([&] {
    return ReadOperations(operations, &program);
  });
  if (!done) {
    std::fprintf(stderr, "tsan_bench: %s\n", done.error().Text().c_str());
    return 2;
  }
  std::printf("%zu operations, the runtime of %s\n", program.ops.size(), SS_TSAN_COMPILER);
  std::vector<std::pair<uint64_t, double>> ratios;
  for (uint64_t bytes : {64, 512, 4096, 65536, 1048576}) {
    ratios.emplace_back(bytes, Compare(program, folder, operations, bytes));
  }
  for (auto& [bytes, ratio] : ratios) {
    std::printf("RATIO engine_vs_tsan_blocks_of_%" PRIu64 " %.2f\n", bytes, ratio);
  }
  std::remove(operations.c_str());
  return 0;
}

}  // namespace
}  // namespace ss::bench

// Called by the runtime for every report.
extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void*) {
  ++ss::bench::reports;
}

int main(int argc, char** argv) { return ss::bench::Main(argc, argv); }
