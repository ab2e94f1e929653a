// One process seen from the drain thread, step by step.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "src/trace/session.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

struct Noted {
  std::vector<uint64_t> tags;
  uint64_t watermark = 0;
  ProcessEnding ending;
};

class Noting : public ProcessSink {
 public:
  explicit Noting(Noted* noted) : noted_(noted) {}
  void Records(uint32_t, ByteSpan records) override {
    for (RawRecord raw; TakeRecord(&records, &raw);) {
      Record record;
      ASSERT_TRUE(Decode(raw, 1, &record));
      if (std::holds_alternative<NoteRelease>(record.body)) noted_->tags.push_back(TagOf(record));
    }
  }
  void Advance(uint64_t watermark) override { noted_->watermark = watermark; }
  void End(const ProcessEnding& ending) override { noted_->ending = ending; }

 private:
  Noted* noted_;
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    void* page = MapShared(CreateSharedMemory("control", sizeof(ControlPage)), sizeof(ControlPage));
    control = new (page) ControlPage();
    control->next_seq = 1;
    Sinks sinks;
    sinks.push_back(std::make_unique<Noting>(&noted));
    session = std::make_unique<Session>(ProcessInfo{}, 0, control, std::move(sinks));
  }
  RingWriter* NewRing(uint32_t thread) {
    int fd = -1;
    RingWriter* writer =
        RingWriter::Create(kDefaultRingBytes, thread, OnFull::kBlock, control, &fd);
    session->AddRing(std::move(*RingReader::Map(fd)));
    return writer;
  }
  static void Put(RingWriter* ring, uint64_t seq, uint64_t tag) {
    std::string wire = TagWire(seq, tag);
    EXPECT_TRUE(ring->Append(AsBytes(wire).data(), wire.size()));
  }

  ControlPage* control = nullptr;  // the session's
  std::unique_ptr<Session> session;
  Noted noted;
};

TEST_F(SessionTest, ACallInProgressHoldsTheWatermark) {
  RingWriter* slow = NewRing(1);
  RingWriter* quick = NewRing(2);
  uint64_t before = slow->Begin();
  for (int i = 0; i < 5; ++i) {
    Put(quick, quick->Begin(), 10);
    quick->End();
  }
  session->Drain(session->Counter());
  EXPECT_EQ(noted.tags.size(), 5u);
  EXPECT_LE(noted.watermark, before);
  Put(slow, before, 20);
  slow->End();
  session->Drain(session->Counter());
  EXPECT_EQ(noted.watermark, session->Counter());
  EXPECT_GT(noted.watermark, before + 5);
}

TEST_F(SessionTest, TheWatermarkIsTheCounterFromBeforeThePass) {
  RingWriter* ring = NewRing(1);
  uint64_t counter = session->Counter();
  Put(ring, ring->Begin(),
      1);  // drawn after the counter was read: another thread's may be under way
  ring->End();
  session->Drain(counter);
  EXPECT_EQ(noted.watermark, counter);
}

TEST_F(SessionTest, AClosedRingIsDrainedToItsEnd) {
  RingWriter* ring = NewRing(1);
  for (uint64_t i = 0; i < 1000; ++i) Put(ring, ring->Next(), i);
  ring->Destroy();
  session->Drain(session->Counter());
  EXPECT_EQ(noted.tags.size(), 1000u);
  session->Finish(false);
  EXPECT_EQ(noted.tags.size(), 1000u);
  EXPECT_EQ(noted.ending.broken_rings, 0u);
}

TEST_F(SessionTest, GarbageCostsItsRingAndIsCounted) {
  RingWriter* bad = NewRing(1);
  RingWriter* good = NewRing(2);
  Put(bad, 1, 1);
  std::string garbage(100, '\xff');
  bad->Append(AsBytes(garbage).data(), garbage.size());
  Put(bad, 2, 2);
  Put(good, 3, 3);
  session->Drain(session->Counter());
  Put(good, 4, 4);
  session->Finish(false);
  EXPECT_EQ(noted.tags, (std::vector<uint64_t>{1, 3, 4}));
  EXPECT_EQ(noted.ending.broken_rings, 1u);
  EXPECT_GT(noted.ending.malformed_bytes, 100u);
}

TEST_F(SessionTest, AfterTheGoodbyeNobodyWaits) {
  NewRing(1);
  session->Finish(true);
  EXPECT_EQ(control->gone.load(), 1u);
  EXPECT_TRUE(noted.ending.still_alive);
}

}  // namespace
}  // namespace ss::trace
