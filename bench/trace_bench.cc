// What recording costs the program, and how fast the watching side takes it. CPU time of this
// thread, the best of several rounds: the machine's other work only ever adds to it.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "src/trace/drain.h"
#include "src/trace/encode.h"
#include "src/trace/merge.h"
#include "src/trace/reader.h"
#include "src/trace/ring.h"
#include "src/trace/writer.h"

namespace ss::trace {
namespace {

constexpr int kRounds = 15;
constexpr int kRecords = 40000;  // of about 75 bytes: they fit the ring, nothing waits

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double BestSeconds(
    const std::function<void()>& work, const std::function<void()>& after = [] {}) {
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    double begin = CpuSeconds();
    work();
    best = std::min(best, CpuSeconds() - begin);
    after();
  }
  return best;
}

// A launch of an elementwise kernel: three pointers in the parameter block.
size_t EncodeLaunch(uint8_t* buffer, size_t size, uint64_t before, uint64_t after, uint64_t i) {
  uint64_t words[] = {0, 0x7f3200000000 + i * 512, 8, 0x7f3210000000 + i * 256, 16, 0x7f3220000000};
  view::Launch launch{.function = 0x55d0c0ffee00,
                      .stream = 0x55d0c0de0000 + i % 4,
                      .context = 0x55d0c0aa0000,
                      .words = {words, 6},
                      .stack = i % 100};
  return Encode(buffer, size, before, after, launch);
}

struct Ring {
  Ring() {
    control.next_seq = 1;
    int fd = -1;
    writer = RingWriter::Create(kDefaultRingBytes, 1, OnFull::kDrop, &control, &fd);
    reader = std::move(*RingReader::Map(fd));
  }
  ~Ring() { writer->Destroy(); }
  void Drain() { reader->Consume(reader->Peek().size()); }

  ControlPage control{};
  RingWriter* writer;
  std::unique_ptr<RingReader> reader;
};

void ProducerCost() {
  Ring ring;
  uint8_t buffer[4096];
  uint64_t bytes = 0;
  double encode = BestSeconds([&] {
    for (uint64_t i = 0; i < kRecords; ++i)
      bytes += EncodeLaunch(buffer, sizeof buffer, i, i + 1, i);
  });
  size_t size = EncodeLaunch(buffer, sizeof buffer, 1, 2, 3);
  double append = BestSeconds(
      [&] {
        for (uint64_t i = 0; i < kRecords; ++i) ring.writer->Append(buffer, size);
      },
      [&] { ring.Drain(); });
  double whole = BestSeconds(
      [&] {
        for (uint64_t i = 0; i < kRecords; ++i) {
          uint64_t before = ring.writer->Begin();
          size_t n = EncodeLaunch(buffer, sizeof buffer, before, ring.writer->Next(), i);
          ring.writer->Append(buffer, n);
          ring.writer->End();
        }
      },
      [&] { ring.Drain(); });
  std::printf("launch record: %zu bytes, dropped %llu\n", size,
              static_cast<unsigned long long>(ring.writer->dropped()));
  std::printf("RATIO trace_encode_ns %.1f\n", encode / kRecords * 1e9);
  std::printf("RATIO trace_append_ns %.1f\n", append / kRecords * 1e9);
  std::printf("RATIO trace_record_ns %.1f\n", whole / kRecords * 1e9);
}

void WatcherCost() {
  std::string raw;
  uint8_t buffer[4096];
  for (uint64_t i = 0; i < kRecords; ++i) {
    size_t n = EncodeLaunch(buffer, sizeof buffer, 2 * i, 2 * i + 1, i);
    raw.append(reinterpret_cast<char*>(buffer), n);
  }
  ByteSpan bytes(reinterpret_cast<const uint8_t*>(raw.data()), raw.size());
  double megabytes = static_cast<double>(raw.size()) / 1e6;
  std::unique_ptr<TraceWriter> writer;
  double write = BestSeconds([&] {
    writer = std::move(*TraceWriter::InMemory());
    writer->Add(1, bytes);
    (void)writer->Close();
  });
  uint64_t records = 0;
  double read = BestSeconds([&] {
    auto reader = TraceReader::FromFile(std::move(*writer->file().Share()));
    for (auto next = reader->Next(); next && *next; next = reader->Next()) ++records;
  });
  double live = BestSeconds([&] {
    MergeQueue queue;
    ByteSpan rest = bytes;
    for (RawRecord wire; TakeRecord(&rest, &wire);) {
      Record record;
      Decode(wire, 1, &record);
      queue.Add(std::move(record));
      if (queue.waiting() < 1000) continue;
      queue.Advance(wire.seq_before);
      while (queue.Pop()) ++records;
    }
  });
  std::printf("packed to %.1f%%, read %llu records\n",
              100.0 * static_cast<double>(writer->file().size()) / static_cast<double>(raw.size()),
              static_cast<unsigned long long>(records));
  std::printf("RATIO trace_write_mb_per_s %.0f\n", megabytes / write);
  std::printf("RATIO trace_read_mb_per_s %.0f\n", megabytes / read);
  std::printf("RATIO trace_live_merge_ns_per_record %.0f\n", live / kRecords * 1e9);
}

}  // namespace
}  // namespace ss::trace

int main() {
  ss::trace::ProducerCost();
  ss::trace::WatcherCost();
}
