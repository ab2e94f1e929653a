// Traces that were cut, flipped, or written by another version.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/trace/crc32c.h"
#include "src/trace/reader.h"
#include "src/trace/writer.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

std::vector<Record> ReadAll(TraceReader& reader) {
  std::vector<Record> records;
  for (auto next = reader.Next(); next && *next; next = reader.Next()) {
    records.push_back(std::move(**next));
  }
  return records;
}

constexpr uint64_t kPerBlock = 5;
constexpr uint64_t kBlocks = 4;

struct Sample {
  std::string bytes;
  std::vector<size_t> ends;  // of the blocks, the header first
};

// Blocks of five tags each, tags counting up.
Sample MakeSample() {
  auto writer = TraceWriter::InMemory();
  Sample sample;
  sample.ends.push_back((*writer)->file().size());
  for (uint64_t tag = 0; tag < kPerBlock * kBlocks; ++tag) {
    (*writer)->Add(1, AsBytes(TagWire(tag + 1, tag)));
    if (tag % kPerBlock != kPerBlock - 1) continue;
    (*writer)->Flush();
    sample.ends.push_back((*writer)->file().size());
  }
  EXPECT_TRUE((*writer)->Close());
  sample.ends.push_back((*writer)->file().size());
  sample.bytes = *(*writer)->file().ReadAt(0, (*writer)->file().size());
  return sample;
}

// A file may be longer than anybody would wait for, and hold nothing there.
TEST(Damage, HolesArePassedOver) {
  const Sample sample = MakeSample();
  const std::string path =
      std::filesystem::temp_directory_path() / ("ss_sparse_" + std::to_string(getpid()) + ".sst");
  constexpr uint64_t kFar = uint64_t{3} << 40;
  {
    std::ofstream file(path, std::ios::binary);
    file << sample.bytes.substr(0, sample.ends[1]);
    file.seekp(static_cast<std::streamoff>(kFar));
    file << sample.bytes.substr(sample.ends[1]);
  }
  const auto file = TraceFile::OpenForReading(path);
  ASSERT_TRUE(file) << file.error().Text();
  EXPECT_GT(file->NextStored(kFar / 2), kFar / 2);
  EXPECT_LE(file->NextStored(kFar / 2), kFar);
  EXPECT_EQ(file->NextStored(file->size() + 1), file->size());
  auto reader = TraceReader::Open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(reader) << reader.error().Text();
  EXPECT_EQ(ReadAll(*reader).size(), kPerBlock * kBlocks);
  EXPECT_EQ(reader->stats().damaged_bytes, kFar - sample.ends[1]);
  EXPECT_TRUE(reader->stats().has_end);
}

TEST(Damage, CutAtEveryByte) {
  Sample sample = MakeSample();
  for (size_t cut = 0; cut < sample.bytes.size(); ++cut) {
    auto reader = TraceReader::FromMemory(std::string_view(sample.bytes).substr(0, cut), "cut.sst");
    if (cut < sample.ends[0]) {
      ASSERT_FALSE(reader) << cut;
      ASSERT_EQ(reader.error().place, "cut.sst");
      continue;
    }
    ASSERT_TRUE(reader) << cut << reader.error().Text();
    size_t whole = 0;
    while (whole + 1 < sample.ends.size() && sample.ends[whole + 1] <= cut) ++whole;
    std::vector<Record> records = ReadAll(*reader);
    ASSERT_EQ(records.size(), whole * kPerBlock) << cut;
    for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(TagOf(records[i]), i);
    ASSERT_EQ(reader->stats().cut_bytes, cut - sample.ends[whole]);
    ASSERT_FALSE(reader->stats().Complete());
    ASSERT_FALSE(reader->notes().empty());
  }
}

TEST(Damage, EveryFlippedBitIsSeenAndCostsOneBlock) {
  Sample sample = MakeSample();
  size_t step = 1;
  for (size_t bit = 0; bit < sample.bytes.size() * 8; bit += step) {
    step = bit / 8 < sample.ends[0] ? 9 : 1;  // the schema is long: one bit of each of its bytes
    std::string bytes = sample.bytes;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    auto reader = TraceReader::FromMemory(bytes, "flip.sst");
    if (bit / 8 < sample.ends[0]) {
      // Only the minor version may differ and still be read, and the sum says that it was changed.
      ASSERT_FALSE(reader) << bit;
      continue;
    }
    ASSERT_TRUE(reader) << bit;
    std::vector<Record> records = ReadAll(*reader);
    bool in_end_mark = bit / 8 >= sample.ends[kBlocks];
    ASSERT_EQ(records.size(), kPerBlock * (in_end_mark ? kBlocks : kBlocks - 1)) << bit;
    ASSERT_FALSE(reader->stats().Complete()) << bit;
    std::vector<std::string> notes = reader->notes();
    ASSERT_FALSE(notes.empty()) << bit;
    if (in_end_mark) continue;
    ASSERT_NE(notes[0].find("flip.sst@byte "), std::string::npos) << notes[0];
  }
}

TEST(Damage, GarbageBetweenBlocksIsSkippedAndLocated) {
  Sample sample = MakeSample();
  std::string bytes = sample.bytes;
  std::string garbage = "SSBKSSBK" + std::string(100000, 'S');  // magics that are none
  bytes.insert(sample.ends[2], garbage);
  auto reader = TraceReader::FromMemory(bytes, "garbage.sst");
  ASSERT_TRUE(reader);
  EXPECT_EQ(ReadAll(*reader).size(), kPerBlock * kBlocks);
  EXPECT_EQ(reader->stats().damaged_bytes, garbage.size());
  EXPECT_NE(reader->notes()[0].find("@byte " + std::to_string(sample.ends[2])), std::string::npos);
}

void PutU32(std::string* bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i));
}

// The header with another version, its sum made right again.
std::string WithVersion(const Sample& sample, uint32_t major, uint32_t minor) {
  std::string bytes = sample.bytes;
  PutU32(&bytes, 8, major);
  PutU32(&bytes, 12, minor);
  uint32_t sum = Crc32c(bytes.data(), 20);
  PutU32(&bytes, 20, Crc32c(bytes.data() + 24, sample.ends[0] - 24, sum));
  return bytes;
}

TEST(Versions, AnotherMajorIsRefusedNamingBoth) {
  auto reader = TraceReader::FromMemory(WithVersion(MakeSample(), 2, 7), "new.sst");
  ASSERT_FALSE(reader);
  std::string text = reader.error().Text();
  EXPECT_NE(text.find("new.sst"), std::string::npos);
  EXPECT_NE(text.find("2.7"), std::string::npos);
  EXPECT_NE(text.find("1.x"), std::string::npos);
}

TEST(Versions, ANewerMinorIsRead) {
  auto reader = TraceReader::FromMemory(WithVersion(MakeSample(), kMajor, 9));
  ASSERT_TRUE(reader) << reader.error().Text();
  EXPECT_EQ(reader->header().minor, 9u);
  EXPECT_EQ(ReadAll(*reader).size(), kPerBlock * kBlocks);
}

TEST(Versions, UnknownRecordsAreSkippedAndCounted) {
  auto writer = TraceWriter::InMemory();
  (*writer)->Add(1, AsBytes(TagWire(1, 1) + ForeignWire(900, 2, "\x05") + TagWire(3, 3)));
  ASSERT_TRUE((*writer)->Close());
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  std::vector<Record> records = ReadAll(*reader);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Unknown>(records[1].body));
  EXPECT_EQ(reader->stats().unknown_records, 1u);
  EXPECT_FALSE(reader->stats().Complete());
}

TEST(Versions, AMalformedRecordCostsItselfOnly) {
  auto writer = TraceWriter::InMemory();
  (*writer)->Add(1, AsBytes(TagWire(1, 1) + ForeignWire(Text::kId, 2, "\x01\x7f") + TagWire(3, 3)));
  ASSERT_TRUE((*writer)->Close());
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  EXPECT_EQ(ReadAll(*reader).size(), 2u);
  EXPECT_EQ(reader->stats().malformed_records, 1u);
}

TEST(NoTrace, SaysWhatItIsNot) {
  auto text = TraceReader::FromMemory("#!/bin/sh\necho this is long enough\n", "a.sh");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().Text().find("not a StreamSan trace"), std::string::npos);
  EXPECT_FALSE(TraceReader::FromMemory("", "empty.sst"));
  auto folder = TraceReader::Open(std::filesystem::temp_directory_path().string());
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().Text().find("not a regular file"), std::string::npos);
  auto missing = TraceReader::Open("/nonexistent/x.sst");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().Text().find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace ss::trace
