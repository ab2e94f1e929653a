#include <gtest/gtest.h>

#include "src/trace/crc32c.h"
#include "src/trace/merge.h"
#include "src/trace/ring.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

Record DecodeOne(const std::string& wire, uint32_t thread, bool* good) {
  ByteSpan bytes = AsBytes(wire);
  RawRecord raw;
  Record record;
  *good = TakeRecord(&bytes, &raw) && bytes.empty() && Decode(raw, thread, &record);
  return record;
}

TEST(Codec, EveryTypeSurvivesTheRoundTrip) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    for (Record& record : OneOfEach(random)) {
      record.thread = 7;
      bool good = false;
      Record back = DecodeOne(Wire(record), 7, &good);
      ASSERT_TRUE(good) << record.body.index();
      ASSERT_TRUE(Same(record, back)) << record.body.index();
      ASSERT_TRUE(back.extra.empty());
    }
  }
}

TEST(Codec, VarintsOfEveryLength) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (uint64_t delta : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      uint64_t value = (uint64_t{1} << shift) + delta;
      uint8_t buffer[16];
      auto bytes = static_cast<size_t>(PutVarint(buffer, value) - buffer);
      FieldReader reader(ByteSpan(buffer, bytes));
      ASSERT_EQ(reader.Varint(), value);
      ASSERT_TRUE(reader.AtEnd() && !reader.bad());
    }
  }
}

TEST(Codec, PeekFindsTheNumber) {
  Random random(2);
  for (Record& record : OneOfEach(random)) {
    std::string wire = Wire(record);
    EXPECT_EQ(PeekSeqBefore(AsBytes(wire).data()), record.seq_before);
  }
}

TEST(Codec, AShorterRecordReadsAsZero) {
  bool good = false;
  // EventRecord as an older minor would have written it: event and stream only.
  Record record = DecodeOne(ForeignWire(EventRecord::kId, 5, "\x11\x22"), 1, &good);
  ASSERT_TRUE(good);
  const auto& body = std::get<EventRecord>(record.body);
  EXPECT_EQ(body.event, 0x11u);
  EXPECT_EQ(body.stream, 0x22u);
  EXPECT_EQ(body.stack, 0u);
}

TEST(Codec, ALongerRecordKeepsTheSurplusApart) {
  bool good = false;
  Record record = DecodeOne(ForeignWire(NoteRelease::kId, 5, "\x11zz"), 1, &good);
  ASSERT_TRUE(good);
  EXPECT_EQ(TagOf(record), 0x11u);
  EXPECT_EQ(record.extra, "zz");
}

TEST(Codec, AnUnknownIdIsKept) {
  bool good = false;
  Record record = DecodeOne(ForeignWire(900, 5, "abc"), 1, &good);
  ASSERT_TRUE(good);
  EXPECT_EQ(std::get<Unknown>(record.body).id, 900u);
  EXPECT_EQ(std::get<Unknown>(record.body).fields, "abc");
}

TEST(Codec, ALengthBeyondTheRecordIsMalformed) {
  bool good = true;
  DecodeOne(ForeignWire(Text::kId, 5,
                        "\x01\x7f"
                        "abc"),
            1, &good);  // text of 127 bytes, 3 are there
  EXPECT_FALSE(good);
  good = true;
  DecodeOne(ForeignWire(Stack::kId, 5, "\x01\x03\x01"), 1, &good);  // 3 words, 1 is there
  EXPECT_FALSE(good);
}

TEST(Codec, CutAnywhereNeverGivesARecord) {
  Random random(3);
  for (Record& record : OneOfEach(random)) {
    std::string wire = Wire(record);
    for (size_t cut = 0; cut < wire.size(); ++cut) {
      std::string part = wire.substr(0, cut);
      ByteSpan bytes = AsBytes(part);
      RawRecord raw;
      ASSERT_FALSE(TakeRecord(&bytes, &raw));
    }
  }
}

TEST(Codec, AKernelWithTheLargestParameterBlockFits) {
  std::vector<uint64_t> words;
  for (uint64_t offset = 0; offset + 8 <= 32764; offset += 8) {
    words.push_back(offset);
    words.push_back(0xffff800012345678);  // ten bytes as a varint
  }
  std::vector<uint8_t> buffer(kMaxRecord);
  view::Launch launch{.words = {words.data(), words.size()}, .stack = 9};
  size_t bytes = Encode(buffer.data(), buffer.size(), 1, 2, launch);
  ASSERT_GT(bytes, size_t{1} << 14);  // the length takes three bytes
  bool good = false;
  Record record =
      DecodeOne(std::string(buffer.begin(), buffer.begin() + static_cast<long>(bytes)), 1, &good);
  ASSERT_TRUE(good);
  EXPECT_EQ(std::get<Launch>(record.body).words, words);
  EXPECT_EQ(std::get<Launch>(record.body).stack, 9u);
}

TEST(Codec, WhatDoesNotFitIsRefusedAndNotCut) {
  Random random(4);
  for (Record& record : OneOfEach(random)) {
    size_t needed = Wire(record).size();
    std::visit(
        [&](const auto& body) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(body)>, Unknown>) {
            for (size_t room = 0; room < needed; ++room) {
              std::vector<uint8_t> exact(room);  // the sanitizer sees a byte too many
              ASSERT_EQ(
                  Encode(exact.data(), room, record.seq_before, record.seq_after, ViewOf(body)),
                  0u);
            }
          }
        },
        record.body);
  }
}

TEST(Codec, LongTextIsCut) {
  std::string text(kMaxText + 100, 'x');
  std::vector<uint8_t> buffer(kMaxRecord);
  size_t bytes = Encode(buffer.data(), buffer.size(), 1, 1,
                        view::Text{.text_id = 1, .text = {text.data(), text.size()}});
  bool good = false;
  Record record =
      DecodeOne(std::string(buffer.begin(), buffer.begin() + static_cast<long>(bytes)), 1, &good);
  ASSERT_TRUE(good);
  EXPECT_EQ(std::get<Text>(record.body).text.size(), kMaxText);
}

TEST(Crc32c, KnownSums) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xe3069283u);
  std::string zeros(32, '\0');
  EXPECT_EQ(Crc32c(zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(Crc32c("6789", 4, Crc32c("12345", 5)), 0xe3069283u);
}

Record Numbered(uint64_t seq, uint32_t thread, uint64_t tag = 0) {
  Record record;
  record.seq_before = seq;
  record.thread = thread;
  record.body = NoteRelease{tag};
  return record;
}

TEST(Merge, HoldsBackWhatIsNotBelowTheWatermark) {
  MergeQueue queue;
  queue.Add(Numbered(5, 1));
  queue.Add(Numbered(3, 2));
  EXPECT_FALSE(queue.Pop());
  queue.Advance(5);
  EXPECT_EQ(queue.Pop()->seq_before, 3u);
  EXPECT_FALSE(queue.Pop());
  queue.Add(Numbered(4, 2));  // arrives although 5 was promised: it comes, in its place
  EXPECT_EQ(queue.Pop()->seq_before, 4u);
  queue.Advance(MergeQueue::kEverything);
  EXPECT_EQ(queue.Pop()->seq_before, 5u);
  EXPECT_EQ(queue.late(), 0u);
}

TEST(Merge, TiesGoByThreadThenArrival) {
  MergeQueue queue;
  queue.Add(Numbered(1, 2, 30));
  queue.Add(Numbered(1, 1, 20));
  queue.Add(Numbered(1, 1, 10));
  queue.Advance(MergeQueue::kEverything);
  EXPECT_EQ(TagOf(*queue.Pop()), 20u);
  EXPECT_EQ(TagOf(*queue.Pop()), 10u);
  EXPECT_EQ(TagOf(*queue.Pop()), 30u);
}

TEST(Merge, IsBoundedAndCountsWhatThatCosts) {
  MergeQueue queue(2);
  for (uint64_t seq : {10, 11, 12}) queue.Add(Numbered(seq, 1));
  EXPECT_EQ(queue.Pop()->seq_before, 10u);  // three wait, two may
  EXPECT_FALSE(queue.Pop());
  queue.Add(Numbered(4, 2));
  EXPECT_EQ(queue.Pop()->seq_before, 4u);
  EXPECT_EQ(queue.late(), 1u);
}

}  // namespace
}  // namespace ss::trace
