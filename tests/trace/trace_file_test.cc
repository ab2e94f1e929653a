#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "src/base/file.h"
#include "src/trace/reader.h"
#include "src/trace/writer.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

std::string TempPath(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("ss_trace_" + std::to_string(getpid()) + name))
      .string();
}

struct TempFile {
  explicit TempFile(const std::string& name) : path(TempPath(name)) {}
  ~TempFile() { std::filesystem::remove(path); }
  std::string path;
};

std::vector<Record> ReadAll(TraceReader& reader) {
  std::vector<Record> records;
  for (auto next = reader.Next(); next && *next; next = reader.Next()) {
    records.push_back(std::move(**next));
  }
  return records;
}

TEST(TraceFile, ReadsBackInTheOrderOfTheNumbers) {
  TempFile file("order.sst");
  Random random(1);
  auto writer = TraceWriter::Create(file.path);
  ASSERT_TRUE(writer) << writer.error().Text();
  // Numbers are dealt to threads in runs; each thread writes its own in order, blocks close when
  // they may.
  std::vector<Record> expected;
  uint32_t thread = 1;
  for (uint64_t seq = 1; seq <= 40000; ++seq) {
    if (random() % 50 == 0) thread = 1 + random() % 5;
    Record record;
    record.thread = thread;
    record.seq_before = record.seq_after = seq;
    record.body = Text{random(), std::string(random() % 60, 'y')};
    (*writer)->Add(thread, AsBytes(Wire(record)));
    expected.push_back(record);
    if (random() % 5000 == 0) (*writer)->Flush();
  }
  ASSERT_TRUE((*writer)->Close());

  auto reader = TraceReader::Open(file.path);
  ASSERT_TRUE(reader) << reader.error().Text();
  std::vector<Record> records = ReadAll(*reader);
  ASSERT_EQ(records.size(), expected.size());
  for (size_t i = 0; i < records.size(); ++i) ASSERT_TRUE(Same(records[i], expected[i])) << i;
  EXPECT_TRUE(reader->stats().Complete());
  EXPECT_TRUE(reader->notes().empty());
  EXPECT_GT(reader->stats().blocks, 10u);
}

TEST(TraceFile, ACallInsideAnotherComesOutAfterIt) {
  auto writer = TraceWriter::InMemory();
  ASSERT_TRUE(writer);
  (*writer)->Add(1, AsBytes(TagWire(11, 11)));  // inside 10..12, written first
  (*writer)->Flush();
  (*writer)->Add(1, AsBytes(TagWire(10, 10)));
  ASSERT_TRUE((*writer)->Close());
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  ASSERT_TRUE(reader);
  std::vector<Record> records = ReadAll(*reader);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(TagOf(records[0]), 10u);
  EXPECT_EQ(TagOf(records[1]), 11u);
}

TEST(TraceFile, EveryTypeThroughAFile) {
  Random random(5);
  auto writer = TraceWriter::InMemory();
  std::vector<Record> records = OneOfEach(random);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].thread = 2;
    records[i].seq_before = records[i].seq_after = i;
    (*writer)->Add(2, AsBytes(Wire(records[i])));
  }
  ASSERT_TRUE((*writer)->Close());
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  std::vector<Record> back = ReadAll(*reader);
  ASSERT_EQ(back.size(), records.size());
  for (size_t i = 0; i < back.size(); ++i) EXPECT_TRUE(Same(back[i], records[i])) << i;
}

// --- the flight recorder -------------------------------------------------------------------------

// A step of a program: an allocation that stays or goes, and a launch with words that do not pack.
void AddStep(TraceWriter* writer, Random* random, uint64_t step) {
  Record alloc;
  alloc.seq_before = alloc.seq_after = step * 10;
  alloc.body = Alloc{.address = 0x7f0000000000 + step * 4096, .bytes = 4096};
  writer->Add(1, AsBytes(Wire(alloc)));
  Record launch;
  launch.seq_before = launch.seq_after = step * 10 + 1;
  launch.body = Launch{.words = {(*random)(), (*random)(), (*random)(), (*random)()}};
  writer->Add(2, AsBytes(Wire(launch)));
  if (step % 1000 == 0) return;  // this one leaks
  Record free;
  free.seq_before = free.seq_after = step * 10 + 2;
  free.body = Free{.address = 0x7f0000000000 + step * 4096};
  writer->Add(1, AsBytes(Wire(free)));
}

void CheckFlightRecorder(TraceWriter* writer, uint64_t bound) {
  constexpr uint64_t kSteps = 100000;
  Random random(7);
  Record name;
  name.body = Text{42, "the name"};
  writer->Add(1, AsBytes(Wire(name)));
  for (uint64_t step = 1; step <= kSteps; ++step) {
    AddStep(writer, &random, step);
    ASSERT_LE(writer->file().size(), bound);
  }
  ASSERT_TRUE(writer->Close()) << writer->error()->Text();
  ASSERT_GT(writer->stats().evicted, kSteps);

  auto reader = TraceReader::FromFile(std::move(*writer->file().Share()));
  ASSERT_TRUE(reader) << reader.error().Text();
  uint64_t leaks = 0, names = 0, allocs = 0, frees = 0, launches = 0, last_launch = 0;
  for (const Record& record : ReadAll(*reader)) {
    if (const auto* alloc = std::get_if<Alloc>(&record.body)) {
      ++allocs;
      leaks += (alloc->address - 0x7f0000000000) / 4096 % 1000 == 0;
    }
    frees += std::holds_alternative<Free>(record.body);
    names += std::holds_alternative<Text>(record.body);
    if (!std::holds_alternative<Launch>(record.body)) continue;
    if (launches++) {
      EXPECT_EQ(record.seq_before, last_launch + 10);  // the newest history has no gap
    }
    last_launch = record.seq_before;
  }
  EXPECT_EQ(names, 1u);
  EXPECT_EQ(leaks, kSteps / 1000);                  // what still lives is all there
  EXPECT_LE(allocs, frees + kSteps / 1000 + 2000);  // what was freed is gone, blocks apart
  EXPECT_EQ(last_launch, kSteps * 10 + 1);
  EXPECT_GT(launches, 1000u);
  EXPECT_EQ(reader->stats().evicted, writer->stats().evicted);
  ASSERT_FALSE(reader->notes().empty());
  EXPECT_NE(reader->notes()[0].find("max_trace_mb"), std::string::npos);
}

TEST(FlightRecorder, InMemoryKeepsTheNewestAndWhatLives) {
  constexpr uint64_t kBound = 2 << 20;
  auto writer = TraceWriter::InMemory({.max_bytes = kBound});
  ASSERT_TRUE(writer);
  CheckFlightRecorder(writer->get(), kBound);
}

TEST(FlightRecorder, OnDiskTheSame) {
  constexpr uint64_t kBound = 2 << 20;
  TempFile file("flight.sst");
  auto writer = TraceWriter::Create(file.path, {.max_bytes = kBound});
  ASSERT_TRUE(writer);
  CheckFlightRecorder(writer->get(), kBound);
  EXPECT_LE(std::filesystem::file_size(file.path), kBound);
  EXPECT_FALSE(std::filesystem::exists(file.path + ".compacting"));
}

// Machine code was loaded at the start; launches refer to it to the end.
TEST(FlightRecorder, MachineCodeStays) {
  auto writer = TraceWriter::InMemory({.max_bytes = 1 << 20});
  uint64_t seq = 1;
  auto add = [&](const Body& body) {
    Record record;
    record.seq_before = record.seq_after = seq++;
    record.body = body;
    (*writer)->Add(1, AsBytes(Wire(record)));
  };
  add(Image{.image = 7, .kind = 1, .bytes = 20});
  add(ImageBytes{.image = 7, .offset = 0, .data = "0123456789"});
  add(ImageBytes{.image = 7, .offset = 10, .data = "abcdefghij"});
  add(ImageLoad{.image = 6, .handle = 0x1000});
  add(ImageLoad{.image = 7, .handle = 0x1000});  // the handle came back
  add(ImageLoad{.image = 7, .handle = 0x2000});
  add(TensorMap{.first_word = 5, .address = 5, .bytes = 64});
  Random random(9);
  for (int i = 0; i < 60000; ++i) add(Launch{.words = {random(), random(), random()}});
  ASSERT_TRUE((*writer)->Close());
  ASSERT_GT((*writer)->stats().evicted, 0u);
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  std::string bytes;
  std::map<uint64_t, uint64_t> loads;
  size_t images = 0, maps = 0;
  for (const Record& record : ReadAll(*reader)) {
    images += std::holds_alternative<Image>(record.body);
    maps += std::holds_alternative<TensorMap>(record.body);
    if (const auto* piece = std::get_if<ImageBytes>(&record.body)) bytes += piece->data;
    if (const auto* load = std::get_if<ImageLoad>(&record.body)) loads[load->handle] = load->image;
  }
  EXPECT_EQ(images, 1u);
  EXPECT_EQ(maps, 1u);
  EXPECT_EQ(bytes, "0123456789abcdefghij");
  EXPECT_EQ(loads, (std::map<uint64_t, uint64_t>{{0x1000, 7}, {0x2000, 7}}));
}

TEST(FlightRecorder, CountsOfEvictedRecordsAddUp) {
  auto writer = TraceWriter::InMemory({.max_bytes = 1 << 20});
  Random random(8);
  uint64_t dropped = 0, unmodelled = 0;
  for (uint64_t seq = 1; seq < 60000; ++seq) {
    Record record;
    record.seq_before = record.seq_after = seq;
    if (seq % 100 == 0) {
      record.body = Dropped{seq};
      dropped += seq;
    } else if (seq % 100 == 50) {
      record.body = Unmodelled{seq % 3, 2};
      unmodelled += 2;
    } else {
      record.body = Launch{.words = {random(), random(), random()}};
    }
    (*writer)->Add(1, AsBytes(Wire(record)));
  }
  ASSERT_TRUE((*writer)->Close());
  ASSERT_GT((*writer)->stats().evicted, 0u);
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  for (const Record& record : ReadAll(*reader)) {
    if (const auto* drop = std::get_if<Dropped>(&record.body)) dropped -= drop->count;
    if (const auto* call = std::get_if<Unmodelled>(&record.body)) unmodelled -= call->count;
  }
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(unmodelled, 0u);
}

TEST(FlightRecorder, StateThatDoesNotFitIsLostAndNotUnbounded) {
  constexpr uint64_t kBound = 1 << 20;
  auto writer = TraceWriter::InMemory({.max_bytes = kBound});
  Random random(9);
  for (uint64_t seq = 1; seq <= 100000; ++seq) {
    Record record;
    record.seq_before = record.seq_after = seq;
    record.body = Alloc{.address = random(), .bytes = random()};  // nothing is ever freed
    (*writer)->Add(1, AsBytes(Wire(record)));
    ASSERT_LE((*writer)->file().size(), kBound);
  }
  auto closed = (*writer)->Close();
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().Text().find("max_trace_mb"), std::string::npos);
  EXPECT_GT((*writer)->stats().lost, 10000u);
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  EXPECT_EQ(ReadAll(*reader).size() + (*writer)->stats().lost, 100000u);
  EXPECT_EQ(reader->stats().lost, (*writer)->stats().lost);
}

// --- disks that do not take it -------------------------------------------------------------------

std::string Noise(Random* random) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += static_cast<char>((*random)());
  return text;
}

// In a child: the limit holds for a whole process, and SIGXFSZ would end it.
int WriteBeyondTheLimit(const std::string& path) {
  rlimit limit{300000, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  auto writer = TraceWriter::Create(path);
  if (!writer) return 2;
  Random random(9);
  auto add = [&](uint64_t seq) {
    Record record;
    record.seq_before = record.seq_after = seq;
    record.body = Text{seq, Noise(&random)};
    (*writer)->Add(1, AsBytes(Wire(record)));
  };
  uint64_t seq = 0;
  while (seq < 500) add(++seq);
  (*writer)->Flush();
  if (!(*writer)->error() || (*writer)->error()->remedy.empty()) return 3;
  uint64_t lost = (*writer)->stats().lost;
  if (lost == 0 || lost >= 500) return 4;
  limit.rlim_cur = RLIM_INFINITY;  // room again
  setrlimit(RLIMIT_FSIZE, &limit);
  while (seq < 600) add(++seq);
  if ((*writer)->Close()) return 5;  // the error stays
  return (*writer)->stats().lost == lost + 100 ? 0 : 6;
}

// A file whose size says nothing is not read to its end either.
TEST(ReadBytes, StopsAtTheMost) {
  const std::string path = "/proc/self/maps";
  EXPECT_GT(ReadBytes(path).value().size(), 16u);
  const auto cut = ReadBytes(path, 16);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("is larger than"), std::string::npos);
}

TEST(FullDisk, KeepsWhatWasWrittenAndNothingAfterTheFirstLoss) {
  TempFile file("limit.sst");
  pid_t child = fork();
  if (child == 0) _exit(WriteBeyondTheLimit(file.path));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto reader = TraceReader::Open(file.path);
  ASSERT_TRUE(reader) << reader.error().Text();
  std::vector<Record> records = ReadAll(*reader);
  const ReadStats& stats = reader->stats();
  EXPECT_EQ(records.size() + stats.lost, 600u);
  EXPECT_GT(stats.lost, 0u);
  EXPECT_EQ(records.back().seq_before, records.size());
  EXPECT_EQ(stats.damaged_blocks + stats.damaged_bytes + stats.cut_bytes, 0u);
  EXPECT_TRUE(stats.has_end);
  EXPECT_FALSE(stats.Complete());
}

TEST(FullDisk, ADeviceThatTakesNothingIsAnErrorAtOnce) {
  auto writer = TraceWriter::Create("/dev/full");
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().place, "/dev/full");
  EXPECT_NE(writer.error().message.find("No space left"), std::string::npos);
  EXPECT_FALSE(writer.error().remedy.empty());
}

TEST(FullDisk, AMissingFolderSaysSo) {
  auto writer = TraceWriter::Create("/nonexistent/a.sst");
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().Text().find("create the folder"), std::string::npos);
}

}  // namespace
}  // namespace ss::trace
