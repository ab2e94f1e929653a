// `streamsan check DIR` over the traces of many ranks: how long it takes and how much memory,
// beside the limit, which is what reading the traces takes on one thread a processor.
//
// ranks_bench [RANKS [OPERATIONS [HAZARDS]]], default 64, 100,000 and 0. Ranks train in groups of 8
// (tensor parallel, on the compute stream) and across those (data parallel, on a stream beside it);
// an eighth of the operations are collectives. All is ordered in the usual case, a job without a
// hazard; in HAZARDS ranks a wait is missing once, and all of them are judged together, too.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "src/trace/encode.h"
#include "src/trace/reader.h"
#include "src/trace/writer.h"

namespace ss::trace {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr uint64_t kContext = 0xC0, kCompute = 0xA0, kComm = 0xB0;
constexpr uint64_t kToComm = 0xE1, kToCompute = 0xE2;  // events
constexpr uint64_t kTensor = 0xC100, kData = 0xC200;   // communicators
constexpr uint64_t kMemory = 0x7f0000000000, kBlock = 1 << 20;
constexpr uint64_t kGroup = 8, kFloat = 7, kAllReduce = 1;
constexpr uint64_t kStep = 16;   // operations
constexpr uint64_t kBroken = 1;  // the step without a wait

class Rank {
 public:
  Rank(const std::string& path, uint64_t rank, uint64_t ranks)
      : writer_(std::move(*TraceWriter::Create(path))) {
    Put(view::Process{.pid = 1000 + rank, .command = "train", .rank = static_cast<int64_t>(rank)});
    Put(view::Thread{.os_tid = 1000 + rank, .name = "train"});
    Put(view::ContextCreate{.context = kContext, .arch = 90});
    for (uint64_t stream : {kCompute, kComm}) {
      Put(view::StreamCreate{.stream = stream, .context = kContext, .flags = 1});
    }
    for (uint64_t event : {kToComm, kToCompute}) {
      Put(view::EventCreate{.event = event, .context = kContext, .flags = 2});
    }
    for (uint64_t block = 0; block < 4; ++block) {
      Put(view::Alloc{
          .address = kMemory + block * kBlock, .bytes = kBlock, .kind = 1, .context = kContext});
    }
    const uint64_t groups = (ranks + kGroup - 1) / kGroup;
    Comm(kTensor, 1 + rank / kGroup, rank % kGroup, std::min(kGroup, ranks));
    Comm(kData, 1'000'000 + rank % kGroup, rank / kGroup, groups);
  }

  void Train(uint64_t operations, bool hazard) {
    for (uint64_t i = 0; i < operations / kStep; ++i) Step(i + 1, !hazard || i != kBroken);
    Put(view::ProcessEnd{});
    (void)writer_->Close();
  }

 private:
  template <typename View>
  void Put(const View& record) {
    const uint64_t before = ++seq_;
    size_t bytes = Encode(buffer_, sizeof buffer_, before, ++seq_, record);
    writer_->Add(1, {buffer_, bytes});
  }
  void Comm(uint64_t handle, uint64_t identity, uint64_t member, uint64_t ranks) {
    Put(view::NcclComm{.comm = handle,
                       .how = 1,
                       .rank = static_cast<int64_t>(member),
                       .ranks = ranks,
                       .identity = identity});
  }
  void Copy(uint64_t from, uint64_t to, uint64_t stream) {
    Put(view::Copy{.destination = kMemory + to * kBlock,
                   .source = kMemory + from * kBlock,
                   .bytes = kBlock,
                   .stream = stream,
                   .context = kContext,
                   .exact = 1});
  }
  void Wait(uint64_t waiting, uint64_t stream, uint64_t event) {
    Put(view::EventRecord{.event = event, .stream = stream, .context = kContext});
    Put(view::StreamWaitEvent{.stream = waiting, .context = kContext, .event = event});
  }
  void Reduce(uint64_t comm, uint64_t kind, uint64_t block, uint64_t stream, uint64_t count) {
    const uint64_t data = kMemory + block * kBlock;
    ++group_;
    Put(view::NcclCall{.comm = comm,
                       .kind = kind,
                       .send = data,
                       .receive = data,
                       .count = count,
                       .datatype = kFloat,
                       .peer = -1,
                       .stream = stream,
                       .context = kContext,
                       .group = group_});
    Put(view::NcclGroupEnd{.group = group_, .calls = 1});
  }
  // kStep operations.
  void Step(uint64_t number, bool waits) {
    for (uint64_t i = 0; i < 7; ++i) Copy(i % 2, 1 - i % 2, kCompute);
    Reduce(kTensor, kAllReduce, 1, kCompute, 1024 + number % 7);
    Copy(1, 2, kCompute);
    if (waits) Wait(kComm, kCompute, kToComm);
    Reduce(kData, kAllReduce, 2, kComm, 4096);
    Copy(2, 3, kComm);
    Wait(kCompute, kComm, kToCompute);
    Copy(3, 0, kCompute);
  }

  std::unique_ptr<TraceWriter> writer_;
  uint8_t buffer_[4096];
  uint64_t seq_ = 0, group_ = 0;
};

template <typename F>
void OnAllProcessors(uint64_t count, F f) {
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    threads.emplace_back([&] {
      for (uint64_t rank; (rank = next.fetch_add(1)) < count;) f(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Wall time, and the processors' time: other work of the machine adds to the first only.
struct Spent {
  double wall = 0, cpu = 0;
};

double CpuSeconds(const rusage& usage) {
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double WallSeconds() {
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Path(const std::string& folder, uint64_t rank) {
  return fmt::format("{}/{}.0.sst", folder, rank);
}

Spent Read(const std::string& folder, uint64_t ranks) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const double start = WallSeconds();
  OnAllProcessors(ranks, [&](uint64_t rank) {
    auto reader = std::move(*TraceReader::Open(Path(folder, rank)));
    while (*reader.Next()) {
    }
  });
  getrusage(RUSAGE_SELF, &after);
  return {WallSeconds() - start, CpuSeconds(after) - CpuSeconds(before)};
}

struct Checked : Spent {
  double mebibytes = 0;
  int code = 0;
};

Checked Check(const std::string& folder) {
  const double start = WallSeconds();
  const std::string tool = SS_BINARY_DIR "/bin/streamsan";
  pid_t pid = fork();
  if (pid == 0) {
    execl(tool.c_str(), tool.c_str(), "check", folder.c_str(), nullptr);
    _exit(126);
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  return {{WallSeconds() - start, CpuSeconds(usage)},
          static_cast<double>(usage.ru_maxrss) / 1024,
          WEXITSTATUS(status)};
}

int Main(uint64_t ranks, uint64_t operations, uint64_t hazards) {
  char folder[] = "/tmp/ss_ranks_bench_XXXXXX";
  if (!mkdtemp(folder)) return 1;
  OnAllProcessors(ranks, [&](uint64_t rank) {
    Rank(Path(folder, rank), rank, ranks).Train(operations, rank < hazards);
  });
  uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(folder)) bytes += file.file_size();
  const auto all = static_cast<double>(ranks * operations);
  fmt::print("{} ranks of {} operations: {:.1f} MiB of traces, {:.1f} bytes an operation\n", ranks,
             operations, static_cast<double>(bytes) / (1 << 20), static_cast<double>(bytes) / all);
  const Spent limit = Read(folder, ranks);
  const Checked checked = Check(folder);
  fs::remove_all(folder);
  auto line = [&](const char* what, const Spent& spent) {
    fmt::print("{}: {:.1f} s, processors {:.1f} s, {:.2f} us an operation\n", what, spent.wall,
               spent.cpu, spent.cpu / all * 1e6);
  };
  line("limit (reading alone)", limit);
  line("check", checked);
  fmt::print("exit code {}, {:.0f} MiB at most\n", checked.code, checked.mebibytes);
  fmt::print("RATIO ranks_check_to_reading {:.2f}\n", checked.cpu / limit.cpu);
  const int expected = hazards == 0 ? 0 : 66;
  return checked.code != expected;
}

}  // namespace
}  // namespace ss::trace

int main(int argc, char** argv) {
  auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return ss::trace::Main(number(1, 64), number(2, 100'000), number(3, 0));
}
