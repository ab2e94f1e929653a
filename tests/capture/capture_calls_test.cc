// What every modelled call leaves in the trace, whichever way the program found the driver.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/capture/watch.h"

namespace ss::test {
namespace {

using namespace ss::trace;

constexpr uint64_t kLegacyStream = 1;
constexpr uint64_t kPerThreadStream = 2;

struct Way {
  const char* program;
  const char* mode;
  uint64_t default_stream;
};

class Calls : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    watched_ = ss::test::Run({Program(GetParam().program), GetParam().mode});
    ASSERT_EQ(watched_.status, 0) << watched_.errors;
    printed_ = watched_.Printed();
  }
  template <class T>
  std::vector<T> All() const {
    return watched_.All<T>();
  }
  uint64_t Printed(const char* name) const { return printed_.at(name); }

  Watched watched_;
  std::map<std::string, uint64_t> printed_;
};

TEST_P(Calls, AreCountedExactly) {
  std::map<std::string, uint64_t> expected;
  for (auto& [name, count] : printed_) {
    if (name.rfind("calls:", 0) == 0) expected[name.substr(6)] = count;
  }
  ASSERT_GT(expected.size(), 60u);
  EXPECT_EQ(watched_.Counters(), expected);
}

TEST_P(Calls, NothingIsLost) {
  ASSERT_EQ(watched_.ended.size(), 1u);
  EXPECT_EQ(watched_.ended[0].dropped, 0u);
  EXPECT_EQ(watched_.ended[0].late, 0u);
  EXPECT_EQ(watched_.ended[0].malformed, 0u);
  ASSERT_EQ(All<Process>().size(), 1u);
  EXPECT_EQ(All<Process>()[0].late, 0u);
  EXPECT_EQ(All<ProcessEnd>().size(), 1u);
}

TEST_P(Calls, OnlyWhatIsNotModelledIsUnmodelled) {
  std::map<std::string, uint64_t> expected;
  bool threaded = GetParam().default_stream == kPerThreadStream;
  expected[threaded ? "cuMemDiscardBatchAsync_ptsz" : "cuMemDiscardBatchAsync"] = 1;
  EXPECT_EQ(watched_.Unmodelled(), expected);
}

TEST_P(Calls, StreamsAndEvents) {
  ASSERT_EQ(All<StreamCreate>().size(), 3u);
  EXPECT_EQ(All<StreamCreate>()[0].stream, Printed("stream"));
  EXPECT_EQ(All<StreamCreate>()[0].flags, 1u);
  EXPECT_EQ(All<StreamCreate>()[0].context, Printed("context"));
  EXPECT_EQ(All<StreamDestroy>().size(), 3u);
  EXPECT_EQ(All<EventCreate>().size(), 2u);
  EXPECT_EQ(All<EventDestroy>().size(), 2u);
  auto records = All<EventRecord>();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].event, Printed("event"));
  EXPECT_EQ(records[0].stream, Printed("stream"));
  EXPECT_EQ(records[1].stream, GetParam().default_stream);
  ASSERT_EQ(All<StreamWaitEvent>().size(), 1u);
  EXPECT_EQ(All<StreamWaitEvent>()[0].event, Printed("event"));
  EXPECT_EQ(All<EventSync>().size(), 4u);  // two of them are one elapsed-time call
  EXPECT_EQ(All<EventQuery>().size(), 1u);
  EXPECT_EQ(All<StreamQuery>().size(), 1u);
  auto syncs = All<StreamSync>();
  ASSERT_EQ(syncs.size(), 3u);
  EXPECT_EQ(syncs[2].stream, GetParam().default_stream);
  ASSERT_EQ(All<ContextSync>().size(), 1u);
  EXPECT_EQ(All<ContextSync>()[0].context, Printed("context"));
}

TEST_P(Calls, GreenContextsAndEventsOverContexts) {
  const uint64_t primary = Printed("context"), green = Printed("green_context");
  auto created = All<ContextCreate>();
  ASSERT_EQ(created.size(), 3u);
  EXPECT_EQ(created[0].primary, 0u);
  EXPECT_EQ(created[1].context, green);
  EXPECT_EQ(created[1].primary, primary);
  EXPECT_EQ(All<ContextDestroy>()[0].context, green);
  auto stream = All<StreamCreate>()[2];
  EXPECT_EQ(stream.stream, Printed("green_stream"));
  EXPECT_EQ(stream.context, green);
  auto records = All<ContextRecord>();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].context, primary);
  EXPECT_EQ(records[1].context, green);
  auto waits = All<ContextWait>();
  ASSERT_EQ(waits.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(waits[i].context, green);
    EXPECT_EQ(waits[i].event, Printed("event"));
    EXPECT_EQ(records[i].event, Printed("event"));
    EXPECT_NE(waits[i].stack, 0u);
    EXPECT_NE(records[i].stack, 0u);
  }
}

TEST_P(Calls, LaunchesShowTheirPointers) {
  auto functions = All<Function>();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(watched_.Text(functions[0].text_id), "touch");
  EXPECT_EQ(functions[0].parameters, (std::vector<uint64_t>{0, 88, 88, 4, 96, 8}));
  auto launches = All<Launch>();
  ASSERT_EQ(launches.size(), 4u);
  std::vector<uint64_t> words{8, Printed("block"), 16, Printed("other") + 8, 96, Printed("other")};
  for (const Launch& launch : launches) {
    EXPECT_EQ(launch.function, Printed("touch"));
    EXPECT_EQ(launch.words, words);
    EXPECT_EQ(launch.context, Printed("context"));
    EXPECT_EQ(launch.result, 0);
    EXPECT_NE(launch.stack, 0u);
  }
  EXPECT_EQ(launches[0].kind, 0u);
  EXPECT_EQ(launches[1].kind, 1u);
  EXPECT_EQ(launches[2].kind, 2u);
  EXPECT_EQ(launches[0].stream, Printed("stream"));
  EXPECT_EQ(launches[2].stream, GetParam().default_stream);
}

TEST_P(Calls, CopiesShowTheirRanges) {
  auto copies = All<Copy>();
  ASSERT_EQ(copies.size(), 20u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(copies[i].bytes, 16 + i);
    EXPECT_EQ(copies[i].exact, 1u);
    EXPECT_EQ(copies[i].blocking, i % 2 == 0);
    EXPECT_EQ(copies[i].stream, i % 2 == 0 ? GetParam().default_stream : Printed("stream"));
  }
  EXPECT_EQ(copies[0].source, Printed("pinned"));
  EXPECT_EQ(copies[0].destination, Printed("block"));
  EXPECT_EQ(copies[2].source, Printed("block"));
  EXPECT_EQ(copies[2].destination, Printed("pinned"));
  for (size_t i = 10; i < 13; ++i) {  // 3 rows of 8 bytes, 64 apart, from row 1, byte 4 on
    EXPECT_EQ(copies[i].destination, Printed("block") + 64 + 4);
    EXPECT_EQ(copies[i].bytes, 2 * 64 + 8);
    EXPECT_EQ(copies[i].exact, 0u);
    EXPECT_EQ(copies[i].box, (std::vector<uint64_t>{8, 3, 1, 64, 64 * 4, 32, 32 * 3}));
  }
  for (size_t i = 13; i < 15; ++i) {  // packed: exact
    EXPECT_EQ(copies[i].destination, Printed("other"));
    EXPECT_EQ(copies[i].source, Printed("block"));
    EXPECT_EQ(copies[i].bytes, 16 * 4 * 2);
    EXPECT_EQ(copies[i].exact, 1u);
    EXPECT_TRUE(copies[i].box.empty());
  }
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(copies[i].batch, 0u);
}

TEST_P(Calls, BatchesShowEachCopyAndWhenItReads) {
  auto copies = All<Copy>();
  ASSERT_EQ(copies.size(), 20u);
  copies.erase(copies.begin(), copies.begin() + 15);
  std::vector<uint64_t> batch, order;
  for (const Copy& copy : copies) {
    batch.push_back(copy.batch);
    order.push_back(copy.source_order);
    EXPECT_EQ(copy.stream, Printed("stream"));
    EXPECT_EQ(copy.blocking, 0u);
  }
  EXPECT_EQ(batch, (std::vector<uint64_t>{1, 2, 2, 1, 2}));
  EXPECT_EQ(order, (std::vector<uint64_t>{3, 3, 1, 2, 2}));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(copies[i].bytes, 16 + i);
  EXPECT_EQ(copies[2].source, Printed("block") + 128);
  EXPECT_EQ(copies[2].destination, Printed("other"));
  EXPECT_EQ(copies[3].box, (std::vector<uint64_t>{8, 3, 2, 64, 256, 8, 24}));
  EXPECT_EQ(copies[3].destination, Printed("block"));
  EXPECT_EQ(copies[3].exact, 0u);
  EXPECT_EQ(copies[4].bytes, 8 * 3 * 2);
  EXPECT_EQ(copies[4].exact, 1u);
}

TEST_P(Calls, MemsetsShowTheirRanges) {
  auto sets = All<Memset>();
  std::vector<uint64_t> bytes{16, 17, 36, 38, 80, 84, 72, 73, 80, 80, 96, 96};
  ASSERT_EQ(sets.size(), bytes.size());
  for (size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(sets[i].bytes, bytes[i]) << i;
    EXPECT_EQ(sets[i].bounding, i < 6 ? 0u : 1u) << i;  // two rows with a gap
    EXPECT_EQ(sets[i].pitch, i < 6 ? 0u : 64u) << i;
    EXPECT_EQ(sets[i].rows, i < 6 ? 0u : 2u) << i;
    EXPECT_EQ(sets[i].destination, Printed("block"));
    EXPECT_EQ(sets[i].blocking, i % 2 == 0);
    EXPECT_EQ(sets[i].stream, i % 2 == 0 ? GetParam().default_stream : Printed("stream"));
  }
}

TEST_P(Calls, HostFunctionsRunAndHaveTokens) {
  EXPECT_EQ(Printed("host_functions_ran"), 2u);
  auto functions = All<HostFunction>();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_NE(functions[0].token, 0u);
  EXPECT_NE(functions[1].token, functions[0].token);
}

TEST_P(Calls, MemoryShowsKindsAndFailures) {
  std::vector<uint64_t> kinds;
  for (const Alloc& alloc : All<Alloc>()) kinds.push_back(alloc.kind);
  EXPECT_EQ(kinds, (std::vector<uint64_t>{1, 1, 2, 1, 4, 2, 3, 1}));
  EXPECT_EQ(All<Alloc>()[3].bytes, Printed("pitched_bytes"));
  EXPECT_EQ(All<Alloc>().back().result, 2);  // out of memory
  EXPECT_EQ(All<Alloc>().back().address, 0u);
  EXPECT_EQ(All<Free>().size(), 7u);
  auto pooled = All<AllocAsync>();
  ASSERT_EQ(pooled.size(), 2u);
  EXPECT_EQ(pooled[0].address, Printed("pooled"));
  EXPECT_EQ(pooled[0].pool, 0u);
  EXPECT_EQ(pooled[1].pool, Printed("pool"));
  auto freed = All<FreeAsync>();
  ASSERT_EQ(freed.size(), 2u);
  EXPECT_EQ(freed[0].stream, GetParam().default_stream);
  EXPECT_EQ(freed[1].stream, Printed("stream"));
}

TEST_P(Calls, ContextsComeAndGo) {
  auto created = All<ContextCreate>();
  ASSERT_EQ(created.size(), 3u);
  EXPECT_EQ(created[0].context, Printed("context"));
  EXPECT_EQ(created[2].context, Printed("own_context"));
  EXPECT_EQ(All<ContextDestroy>().size(), 3u);
}

TEST_P(Calls, NamesComeBeforeTheirUse) {
  std::map<uint64_t, bool> functions;
  for (const Record& record : watched_.records) {
    if (auto* function = std::get_if<Function>(&record.body)) functions[function->function] = true;
    auto* launch = std::get_if<Launch>(&record.body);
    EXPECT_TRUE(!launch || functions[launch->function]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Calls,
                         testing::Values(Way{"capture_calls", "link", kLegacyStream},
                                         Way{"capture_calls", "dlsym", kLegacyStream},
                                         Way{"capture_calls", "dlvsym", kLegacyStream},
                                         Way{"capture_calls", "proc", kLegacyStream},
                                         Way{"capture_calls_ptds", "link", kPerThreadStream},
                                         Way{"capture_calls_ptds", "dlsym", kPerThreadStream},
                                         Way{"capture_calls_ptds", "proc", kPerThreadStream}),
                         [](const auto& info) {
                           return std::string(info.param.program).substr(8) + "_" + info.param.mode;
                         });

}  // namespace
}  // namespace ss::test
