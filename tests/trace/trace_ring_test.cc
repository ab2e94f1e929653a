#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <new>
#include <thread>

#include "src/trace/drain.h"
#include "src/trace/ring.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

constexpr size_t kSmallest = 128 << 10;

struct Pair {
  explicit Pair(OnFull on_full, ControlPage* control = nullptr, size_t bytes = kSmallest) {
    int fd = -1;
    writer = RingWriter::Create(bytes, 3, on_full, control, &fd);
    auto mapped = RingReader::Map(fd);
    EXPECT_TRUE(mapped) << mapped.error().Text();
    reader = std::move(*mapped);
  }
  ~Pair() {
    if (writer) writer->Destroy();
  }
  bool Put(const std::string& wire) { return writer->Append(AsBytes(wire).data(), wire.size()); }
  // All whole records that are there; consumed.
  std::vector<Record> Take() {
    std::vector<Record> records;
    ByteSpan bytes = reader->Peek();
    size_t all = bytes.size();
    for (RawRecord raw; TakeRecord(&bytes, &raw);) {
      EXPECT_TRUE(Decode(raw, reader->thread(), &records.emplace_back()));
    }
    EXPECT_TRUE(bytes.empty());
    reader->Consume(all);
    return records;
  }

  RingWriter* writer = nullptr;
  std::unique_ptr<RingReader> reader;
};

void InitControl(ControlPage* control) {
  control->next_seq = 1;
  control->dead_sleeps = 20;
  control->stuck_sleeps = 60;
}

std::string Sized(uint64_t seq, size_t bytes) {
  Record record;
  record.seq_before = record.seq_after = seq;
  record.body = Text{seq, std::string(bytes, 'x')};
  return Wire(record);
}

TEST(Ring, WrapsAtEveryOffsetWithoutABrokenRecord) {
  Pair ring(OnFull::kDrop);
  Random random(1);
  uint64_t next = 0, seen = 0;
  for (int round = 0; round < 1500; ++round) {
    for (size_t i = random() % 8; i > 0; --i) {
      if (ring.Put(Sized(next, random() % 5000))) ++next;
    }
    for (const Record& record : ring.Take()) {
      if (std::holds_alternative<Dropped>(record.body)) continue;
      ASSERT_EQ(std::get<Text>(record.body).text_id, seen++);
    }
  }
  EXPECT_EQ(seen, next);
  EXPECT_GT(next, 2500u);
}

TEST(Ring, ProducerAndDrainerAtOnce) {
  Pair ring(OnFull::kBlock);
  constexpr uint64_t kRecords = 100000;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kRecords; ++i) ASSERT_TRUE(ring.Put(TagWire(i, i)));
  });
  uint64_t seen = 0;
  while (seen < kRecords) {
    for (const Record& record : ring.Take()) ASSERT_EQ(TagOf(record), seen++);
  }
  producer.join();
  EXPECT_EQ(ring.writer->dropped(), 0u);
}

TEST(Ring, ADroppingProducerCountsAndNotesTheGap) {
  Pair ring(OnFull::kDrop);
  uint64_t kept = 0, offered = 0;
  while (ring.Put(Sized(++offered, 1000))) ++kept;
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(ring.Put(Sized(++offered, 1000)));
  EXPECT_EQ(ring.writer->dropped(), 10u);
  EXPECT_EQ(ring.reader->UnnotedDrops(), 10u);
  EXPECT_EQ(ring.Take().size(), kept);
  EXPECT_TRUE(ring.Put(TagWire(++offered, 77)));
  std::vector<Record> after = ring.Take();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(std::get<Dropped>(after[0].body).count, 10u);
  EXPECT_EQ(after[0].seq_before, offered);
  EXPECT_EQ(TagOf(after[1]), 77u);
  EXPECT_EQ(ring.reader->UnnotedDrops(), 0u);
}

TEST(Ring, RefusesWhatNoReaderTakes) {
  Pair ring(OnFull::kBlock);
  std::string huge(kMaxRecord + 1, 'x');
  EXPECT_FALSE(ring.Put(huge));
  EXPECT_FALSE(ring.Put(""));
  EXPECT_EQ(ring.writer->dropped(), 2u);
  EXPECT_TRUE(ring.reader->Peek().empty());
}

TEST(Ring, ABlockedProducerWaitsForASlowDrainer) {
  ControlPage control{};
  InitControl(&control);
  Pair ring(OnFull::kBlock, &control);
  std::thread producer([&] {
    for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(ring.Put(Sized(i, 1000)));
  });
  uint64_t seen = 0;
  while (seen < 500) {
    control.beat++;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    seen += ring.Take().size();
  }
  producer.join();
  EXPECT_EQ(seen, 500u);
  EXPECT_EQ(ring.writer->dropped(), 0u);
}

double SecondsOf(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void FillUp(Pair* ring) {
  for (int i = 0; i < 127; ++i) ASSERT_TRUE(ring->Put(Sized(1, 1000)));
}

TEST(Ring, ADeadDrainerCostsOneWaitAndThenNothing) {
  ControlPage control{};
  InitControl(&control);
  Pair ring(OnFull::kBlock, &control);
  FillUp(&ring);
  std::string big = Sized(1, 10000);
  EXPECT_GE(SecondsOf([&] { EXPECT_FALSE(ring.Put(big)); }), 0.02);
  EXPECT_LT(SecondsOf([&] {
              for (int i = 0; i < 1000; ++i) EXPECT_FALSE(ring.Put(big));
            }),
            0.02);
  EXPECT_EQ(ring.writer->dropped(), 1001u);
  control.beat++;  // it lives after all: wait again
  EXPECT_GE(SecondsOf([&] { EXPECT_FALSE(ring.Put(big)); }), 0.02);
}

TEST(Ring, ADrainerThatBeatsAndNeverDrainsDoesNotHoldTheProgram) {
  ControlPage control{};
  InitControl(&control);
  Pair ring(OnFull::kBlock, &control);
  FillUp(&ring);
  std::atomic<bool> stop{false};
  std::thread pulse([&] {
    for (; !stop; control.beat++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  std::string big = Sized(1, 10000);
  EXPECT_GE(SecondsOf([&] { EXPECT_FALSE(ring.Put(big)); }), 0.06);
  EXPECT_LT(SecondsOf([&] {
              for (int i = 0; i < 1000; ++i) EXPECT_FALSE(ring.Put(big));
            }),
            0.05);
  ring.Take();
  EXPECT_TRUE(ring.Put(big));
  stop = true;
  pulse.join();
}

TEST(Ring, AGoodbyeEndsTheWaiting) {
  ControlPage control{};
  InitControl(&control);
  control.dead_sleeps = control.stuck_sleeps = 100000;
  Pair ring(OnFull::kBlock, &control);
  FillUp(&ring);
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    control.gone = 1;
  });
  EXPECT_LT(SecondsOf([&] { EXPECT_FALSE(ring.Put(Sized(1, 10000))); }), 5.0);
  leaver.join();
}

TEST(Ring, CallsAreAnnouncedAndNest) {
  ControlPage control{};
  InitControl(&control);
  Pair ring(OnFull::kBlock, &control);
  EXPECT_EQ(ring.reader->in_call(), kNotInCall);
  uint64_t outer = ring.writer->Begin();
  EXPECT_LE(ring.reader->in_call(), outer);
  ring.writer->Begin();
  ring.writer->End();
  EXPECT_LE(ring.reader->in_call(), outer);
  ring.writer->End();
  EXPECT_EQ(ring.reader->in_call(), kNotInCall);
}

TEST(Ring, AForkedChildCannotWriteIntoItsParentsRing) {
  ControlPage control{};
  InitControl(&control);
  Pair ring(OnFull::kBlock, &control);
  ASSERT_TRUE(ring.Put(TagWire(1, 1)));
  pid_t child = fork();
  if (child == 0) {
    bool silent = !ring.writer->alive() && !ring.Put(TagWire(2, 2)) && ring.writer->Begin() == 0;
    ring.writer->End();
    _exit(silent ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(ring.Put(TagWire(3, 3)));
  std::vector<Record> records = ring.Take();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(TagOf(records[1]), 3u);
}

// A ring as its owner would make it, with these seals.
int HandMadeRing(int seals) {
  int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  RingHeader header{};
  header.magic = kRingMagic;
  header.version = kRingVersion;
  EXPECT_EQ(ftruncate(fd, kRingHeaderBytes + kSmallest), 0);
  EXPECT_EQ(pwrite(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

TEST(Ring, TheDrainerRefusesMemoryThatCanShrink) {
  EXPECT_TRUE(RingReader::Map(HandMadeRing(F_SEAL_SHRINK)));
  EXPECT_FALSE(RingReader::Map(HandMadeRing(0)));
  EXPECT_FALSE(RingReader::Map(HandMadeRing(F_SEAL_GROW)));
  EXPECT_FALSE(RingReader::Map(dup(0)));
  EXPECT_EQ(MapControlPage(memfd_create("unsealed", MFD_CLOEXEC)), nullptr);
}

TEST(Ring, ALyingHeadBreaksTheRingAndNothingElse) {
  int fd = -1;
  RingWriter* writer = RingWriter::Create(kSmallest, 1, OnFull::kDrop, nullptr, &fd);
  int second = dup(fd);
  auto reader = RingReader::Map(fd);
  ASSERT_TRUE(reader);
  auto* header = static_cast<RingHeader*>(MapShared(second, kRingHeaderBytes));
  header->head = uint64_t{1} << 60;
  EXPECT_TRUE((*reader)->Peek().empty());
  EXPECT_TRUE((*reader)->broken());
  munmap(header, kRingHeaderBytes);
  close(second);
  writer->Destroy();
}

}  // namespace
}  // namespace ss::trace
