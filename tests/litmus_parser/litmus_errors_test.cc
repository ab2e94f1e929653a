// Every kind of refusal, with the place and the wording that a user sees.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/litmus/litmus.h"

namespace ss {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* place;    // LINE:COLUMN
  const char* message;  // part of the error's text
};

constexpr const char* kCapture =
    "stream s\nstream t\nalloc A 4K device\ns: record E\ncapture G on s\n";

constexpr const char* kReserved =
    "stream s\nreserve V 16K\nmap V[0:4K] H1\nmap V[4K:8K] H2\nalloc A 4K on s at V[0:4K]\n";

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, NamesPlaceAndExpectation) {
  const Case& c = GetParam();
  Result<LitmusFile> file = ParseLitmus(c.text, "f.litmus");
  ASSERT_FALSE(file.has_value()) << "accepted:\n" << c.text;
  EXPECT_EQ(file.error().place, fmt::format("f.litmus:{}", c.place)) << file.error().Text();
  EXPECT_NE(file.error().Text().find(c.message), std::string::npos) << file.error().Text();
}

std::string CaseName(const testing::TestParamInfo<Case>& info) { return info.param.name; }

const Case kSyntax[] = {
    {"UnknownStatement", "stram s\n", "1:1", "found 'stram', expected a statement"},
    {"EndOfLine", "stream s\ns: copy\n", "2:8", "found the end of the line, expected a buffer"},
    {"TrailingWord", "stream s\nsync s now\n", "2:8", "found 'now', expected the end of the line"},
    {"OpenString", "title \"no end\n", "1:7", "expected a closing '\"'"},
    {"TitleWithoutQuotes", "title hello\n", "1:7", "expected a title in quotes"},
    {"NotAName", "stream my-stream\n", "1:8", "found 'my-stream', expected a name for the stream"},
    {"UnprintableBytes", "stream \x01\xff\n", "1:8", "found '\\x01\\xff'"},
    {"LongWordIsCut", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "1:1",
     "xxxxx...', expected"},
    {"Mode", "mode lenient\n", "1:6", "expected 'strict' or 'default'"},
    {"StreamType", "stream s fast\n", "1:10", "expected nonblocking, blocking, legacy, per-thread"},
    {"Device", "stream s device x\n", "1:17", "expected the number of a device"},
    {"SizeUnit", "alloc A 4T device\n", "1:9", "found '4T', expected a size"},
    {"SizeZero", "alloc A 0 device\n", "1:9", "expected a size above 0"},
    {"SizeTooLarge", "alloc A 99999999999999999999 device\n", "1:9", "expected a size"},
    {"SizeOverflow", "alloc A 18446744073709551615G device\n", "1:9", "expected a size"},
    {"SizeWrapsAround", "alloc A 17179869185G device\n", "1:9", "expected a size"},
    {"MemoryWord", "alloc A 4K gpu\n", "1:12",
     "found 'gpu', expected 'on' and a stream, or one of device"},
    {"Query", "stream s\nquery s maybe\n", "2:9", "expected 'done' or 'notready'"},
    {"RankNumber", "rank one\n", "1:6", "expected the number of a rank"},
    {"HostOnTitle", "host w\n@w title \"x\"\n", "2:4",
     "expected a statement that a host thread issues"},
    {"HostTwice", "host w\nalloc H 4K pinned\n@w main: read H\n", "3:4", "expected a stream"},
    {"HostOp", "alloc H 4K pinned\nmain: copy H <- H\n", "2:7", "expected 'read' or 'write'"},
};
INSTANTIATE_TEST_SUITE_P(Syntax, Refused, testing::ValuesIn(kSyntax), CaseName);

const Case kNames[] = {
    {"Stream", "s: kernel k\n", "1:1",
     "found 's', expected a stream, context or host thread declared above"},
    {"DestroyedStream", "stream s\ndestroy s\ns: kernel k\n", "3:1", "(destroyed in line 2)"},
    {"DestroyedIsNoEvent", "stream s\ndestroy s\nsync s\n", "3:6", "the name is a stream's"},
    {"Host", "alloc H 4K pinned\n@w read H\n", "2:2", "expected a host thread declared above"},
    {"Buffer", "stream s\ns: copy A <- B\n", "2:9", "found 'A', expected a buffer allocated above"},
    {"OwnerStream", "alloc A 4K on s\n", "1:15", "expected a stream declared above"},
    {"Graph", "stream s\ns: launch G\n", "2:11", "expected a graph captured above"},
    {"StreamTwice", "stream s\nstream s\n", "2:8", "expected a new name"},
    {"HostIsStream", "stream s\nhost s\n", "2:6", "expected a new name"},
    {"StreamIsMain", "stream main\n", "1:8", "expected a new name"},
    {"StreamIsDevice", "stream device\n", "1:8", "expected another name"},
    {"StreamIsEvent", "stream s\ns: record E\nstream E\n", "3:8", "this one is an event's"},
    {"EventIsStream", "stream s\nstream t\ns: record t\n", "3:11", "expected an event"},
    {"BufferTwice", "alloc A 4K device\nalloc A 4K device\n", "2:7",
     "of line 1 has not been freed"},
    {"LabelIsStream", "stream s\nstream t\ns: kernel k as t\n", "3:16",
     "expected a label that is no stream"},
    {"LabelIsHost", "stream s\ns: kernel k as main\n", "2:16",
     "expected a label that is no stream"},
    {"StreamIsLabel", "stream s\ns: kernel k as t\nstream t\n", "3:8",
     "expected a name that is no label"},
    {"SecondLegacy", "stream a legacy\nstream b legacy\n", "2:10",
     "'a' is this context's default stream"},
    {"SecondPerThread", "stream a per-thread\nstream b per-thread\n", "2:10",
     "'a' is this context's"},
    {"HandoffToItself", "handoff main main\n", "1:14", "expected another host thread"},
    {"SignalRank", "stream s\ns: signal F 1 rank 7\n", "2:20",
     "expected a rank that the file opens"},
    {"PeerRank", "stream s\ns: read A@3\n", "2:11", "expected a rank that the file opens"},
    {"PeerBuffer", "rank 0\nstream s\ns: read A@1\nrank 1\nstream t\n", "3:9",
     "a buffer that rank 1 allocates"},
    {"PeerBufferRange", "rank 0\nstream s\ns: read A@1[0:8K]\nrank 1\nalloc A 4K device\n", "3:15",
     "an end of at most 4K"},
};
INSTANTIATE_TEST_SUITE_P(Names, Refused, testing::ValuesIn(kNames), CaseName);

// A name that stands for one thing, where another is meant: nothing comes into being by it.
const Case kKinds[] = {
    {"EventIsContextOfRank", "rank 0\ncontext C\nrank 1\nstream s\ns: wait C@0\n", "5:9",
     "expected an event; the name is a context's (what rank 0 does is waited for by an event: "
     "'C: record E' there, 'E@0' here)"},
    {"EventIsStreamOfRank", "rank 0\nstream a\nrank 1\nsync a@0\n", "4:6",
     "expected an event; the name is a stream's ("},
    {"ContextIsEventOfRank", "rank 1\nstream s\ns: wait C@0\nrank 0\ncontext C\n", "5:9",
     "this one is an event's"},
    {"EventIsThread", "sync main\n", "1:6", "an event; the name is a host thread's"},
    {"EventIsGraph", "stream s\ncapture G on s\nend\ns: wait G\n", "4:9",
     "an event; the name is a graph's"},
    {"EventIsBuffer", "stream s\nalloc A 4K device\ns: wait A\n", "3:9",
     "an event; the name is a buffer's"},
    {"EventIsBufferQueried", "alloc A 4K device\nquery A done\n", "2:7",
     "an event; the name is a buffer's"},
    {"EventIsDevice", "query device done\n", "1:7", "'sync device' is the device's"},
    {"RecordOfContext", "stream s\ncontext C\ns: record C\n", "3:11",
     "an event; the name is a context's"},
    {"LaunchEventIsStream", "stream s\nstream t\ns: kernel k launch_event t\n", "3:26",
     "an event; the name is a stream's"},
    {"FlagIsStream", "stream s\ns: signal s 1\n", "2:11", "a flag; the name is a stream's"},
    {"FlagIsBuffer", "stream s\nalloc A 4K device\ns: await A 1\n", "3:10",
     "a flag; the name is a buffer's"},
    {"CommIsContext", "stream s\ncontext C\ns: collective C allreduce\n", "3:15",
     "a communicator; the name is a context's"},
    {"PhysicalIsBuffer", "alloc A 4K device\nreserve V 4K\nmap V A\n", "3:7",
     "physical memory; the name is a buffer's"},
    {"GraphIsEvent", "stream s\ns: record E\ncapture E on s\nend\n", "3:9",
     "this one is an event's"},
    {"HostIsFlag", "stream s\ns: signal F 1\nhost F\n", "3:6", "this one is a flag's"},
    {"StreamIsComm", "stream s\ns: collective C allreduce\nstream C\n", "3:8",
     "this one is a communicator's"},
    {"StreamIsBuffer", "stream s\nalloc A 4K device\ns: wait_stream A\n", "3:16",
     "expected a stream declared above ('A' is a buffer)"},
    {"LaneIsBuffer", "alloc A 4K device\nA: kernel k\n", "2:1", "('A' is a buffer)"},
    {"BufferIsStream", "stream s\ns: read s\n", "2:9",
     "expected a buffer allocated above ('s' is a stream)"},
    {"BufferIsPhysical", "stream s\nreserve V 4K\nmap V H\ns: read H\n", "4:9",
     "('H' is physical memory)"},
    {"ThreadIsStream", "stream s\nhandoff main s\n", "2:14", "('s' is a stream)"},
    {"GraphIsStream", "stream s\ns: launch s\n", "2:11", "('s' is a stream)"},
    {"StreamIsEvent", "stream s\ns: record E\ns: wait_stream E\n", "3:16", "('E' is an event)"},
    {"ContextIsStream", "stream s\nstream t context s\n", "2:18",
     "expected a context declared above ('s' is a stream)"},
    {"QueryOfContext", "context C\nquery C done\n", "2:7", "('C' is a context)"},
};
INSTANTIATE_TEST_SUITE_P(Kinds, Refused, testing::ValuesIn(kKinds), CaseName);

// Words of contexts and streams that are doubled or in a wrong place.
const Case kMisplaced[] = {
    {"GreenTwice", "context C green green\n", "1:17",
     "found 'green', expected 'device N' or the end of the line"},
    {"ContextDeviceTwice", "context C device 0 device 1\n", "1:20",
     "found 'device', expected 'green' or the end of the line"},
    {"AllSaidOfContext", "context C device 0 green now\n", "1:26",
     "found 'now', expected the end of the line"},
    {"SecondPrimary", "context C\ncontext D device 0\n", "2:9",
     "expected no second name: 'C' is the device's primary context ('green'"},
    {"DeviceOfContext", "context C\nstream s context C device 1\n", "2:20",
     "found 'device', expected nonblocking, blocking, legacy, per-thread or the end of the line "
     "(context 'C' is on device 0)"},
    {"ContextBehindDevice", "context C\nstream s device 1 context C\n", "2:19",
     "(it is on device 1 already)"},
    {"TypeTwice", "stream s blocking legacy\n", "1:19",
     "found 'legacy', expected 'device N', 'context C' or the end of the line"},
    {"AllSaidOfStream", "stream s device 1 blocking legacy\n", "1:28",
     "found 'legacy', expected the end of the line"},
    {"GreenBlocking", "context G green\nstream s context G blocking\n", "2:20",
     "found 'blocking', expected nonblocking or legacy: a green context has no others"},
    {"UndeclaredContext", "C: record E\n", "1:1",
     "found 'C', expected a stream, context or host thread declared above"},
    {"SyncOnContext", "context C\nC: sync E\n", "2:4",
     "expected 'record', 'wait' or 'wait_stream' ('sync' is a statement of its own, without 'C:')"},
    {"KernelOnContext", "context C\nC: kernel k\n", "2:4",
     "('C' is a context: work runs on a stream)"},
    {"FreeOnStream", "stream s\nalloc A 4K on s\ns: free A\n", "3:4",
     "('free' is a statement of its own, without 's:')"},
    {"SyncOnThread", "main: sync E\n", "1:7",
     "expected 'read' or 'write' ('@main sync' issues that from the thread)"},
    {"RecordWithoutStream", "stream s\nrecord E\n", "2:1",
     "(an operation of a stream: 'STREAM: record')"},
};
INSTANTIATE_TEST_SUITE_P(Misplaced, Refused, testing::ValuesIn(kMisplaced), CaseName);

const Case kMemory[] = {
    {"RangeBackwards", "stream s\nalloc A 4K device\ns: read A[2K:1K]\n", "3:14",
     "expected an end beyond 2K"},
    {"RangeEmpty", "stream s\nalloc A 4K device\ns: read A[1K:1K]\n", "3:14",
     "expected an end beyond 1K"},
    {"RangeBeyond", "stream s\nalloc A 4K device\ns: read A[0:5000]\n", "3:13",
     "found '5000', expected an end of at most 4K, the size of 'A'"},
    {"RangeBeyondView", "stream s\nalloc A 4K device\nview V A[0:1K]\ns: read V[0:2K]\n", "4:13",
     "an end of at most 1K, the size of 'V'"},
    {"CopySizes", "stream s\nalloc A 4K device\nalloc B 8K device\ns: copy A <- B\n", "4:14",
     "found 'B', expected a source of 4K, as much as the destination (it has 8K)"},
    {"CopyRanges", "stream s\nalloc A 4K device\ns: copy A[0:1K] <- A[2K:4K]\n", "3:20",
     "it has 2K"},
    {"CpuReadsDevice", "alloc A 4K device\nmain: read A\n", "2:12",
     "memory that the CPU can touch"},
    {"CpuWritesCaching", "stream s\nalloc A 4K on s\nwrite A\n", "3:7",
     "memory that the CPU can touch"},
    {"HostFnTouchesPool", "stream s\nmalloc_async A 4K on s\ns: host_fn read A\n", "3:17",
     "memory that the CPU can touch"},
    {"ReuseLive", "stream s\nalloc A 4K on s\nalloc B 4K on s reuse A\n", "3:23",
     "that has been freed"},
    {"ReuseTaken",
     "stream s\nalloc A 4K on s\nfree A\nalloc B 4K on s reuse A\nalloc C 4K on s reuse A\n",
     "5:23", "(handed out again in line 4)"},
    {"ReuseLarger", "stream s\nalloc A 4K on s\nfree A\nalloc B 8K on s reuse A\n", "4:23",
     "of at least 8K"},
    {"ReuseOtherAllocator", "stream s\nalloc A 4K device\nfree A\nalloc B 4K on s reuse A\n",
     "4:23", "of the same allocator"},
    {"DoubleFree", "alloc A 4K device\nfree A\nfree A\n", "3:6", "(freed in line 2)"},
    {"DoubleFreeAsync", "stream s\nmalloc_async A 4K on s\nfree_async A on s\nfree_async A on s\n",
     "4:12", "expected a buffer that has not been freed"},
    {"FreeAsyncOfDevice", "stream s\nalloc A 4K device\nfree_async A on s\n", "3:12",
     "of 'malloc_async'"},
    {"FreeView", "alloc A 4K device\nview V A[0:1K]\nfree V\n", "3:6", "this is a view"},
    {"FillWithoutOwner", "alloc A 4K device\nfill A\n", "2:7",
     "expected 'on' and a stream: 'A' belongs to none"},
    {"OutOfAddresses", "alloc A 1024G device\n@main alloc B 1025G device\n", "2:15",
     "expected a size"},
};
INSTANTIATE_TEST_SUITE_P(Memory, Refused, testing::ValuesIn(kMemory), CaseName);

const Case kOperations[] = {
    {"Unknown", "stream s\ns: recrod E\n", "2:4", "found 'recrod', expected an operation: kernel"},
    {"TwoKernels", "stream s\ns: kernel a kernel b\n", "2:13", "each once"},
    {"TwoLabels", "stream s\ns: kernel a as x as y\n", "2:18", "each once"},
    {"KernelClause", "stream s\ns: kernel a with X\n", "2:13", "expected 'kernel', 'read'"},
    {"CopyArrow", "stream s\nalloc A 4K device\ns: copy A A\n", "3:11", "expected '<-'"},
    {"SignalValue", "stream s\ns: signal F x\n", "2:13", "expected a value of the flag"},
    {"AwaitBarrier", "stream s\ns: await F 1 no_barrier\n", "2:14", "expected 'rank' or 'as'"},
    {"SignalTwoRanks", "rank 0\nstream s\ns: signal F 1 rank 0 rank 1\nrank 1\n", "3:22",
     "found 'rank', expected 'rank', 'no_barrier' or 'as', each once"},
    {"SignalTwoBarriers", "stream s\ns: signal F 1 no_barrier no_barrier\n", "2:26", "each once"},
    {"CollectiveKind", "stream s\ns: collective C gather\n", "2:17", "expected allreduce"},
    {"BarrierBuffers", "stream s\nalloc A 4K device\ns: collective C barrier read A\n", "3:25",
     "expected 'as'"},
    {"BroadcastWithoutRoot", "stream s\nalloc A 4K device\ns: collective C broadcast read A\n",
     "3:33", "'root N'"},
    {"AllreduceWithRoot", "stream s\ns: collective C allreduce root 0\n", "2:27",
     "'read', 'write' or 'as'"},
    {"SendWithoutPeer", "stream s\ns: collective C send\n", "2:21", "'peer N'"},
    {"CollectiveAtomic", "stream s\nalloc A 4K device\ns: collective C allreduce atomic A\n",
     "3:27", "'read'"},
    {"HostFnAtomic", "stream s\nalloc A 4K pinned\ns: host_fn atomic A\n", "3:12",
     "'read', 'write' or 'as'"},
};
INSTANTIATE_TEST_SUITE_P(Operations, Refused, testing::ValuesIn(kOperations), CaseName);

const Case kExpectations[] = {
    {"Code", "expect race-rwa X s t\n", "1:8",
     "found 'race-rwa', expected 'none', 'advice' or one of"},
    {"AdviceCode", "expect advice redundant\n", "1:15", "expected 'none' or one of"},
    {"NoneBesideHazard", "stream s\nalloc A 4K device\nexpect race-raw A s s\nexpect none\n", "4:8",
     "found 'none', expected an expectation that can hold beside the one in line 3"},
    {"HazardBesideNone", "stream s\nalloc A 4K device\nexpect none\nexpect lifetime A s\n", "4:8",
     "line 3"},
    {"NoAdviceBesideAdvice", "expect advice redundant-wait\nexpect advice none\n", "2:8", "line 1"},
    {"Buffer", "stream s\nexpect lifetime A s\n", "2:17",
     "found 'A', expected a buffer of this file"},
    {"Lane", "stream s\nalloc A 4K device\nexpect race-raw A s t\n", "3:21",
     "found 't', expected a label, stream"},
    {"KernelIsNoLane", "stream s\nalloc A 4K device\ns: kernel k1\nexpect race-raw A s k1\n",
     "4:21", "found 'k1', expected a label, stream"},
    {"Comm", "expect collective-order C\n", "1:25", "expected a communicator"},
    {"Subject", "expect advice redundant-wait E\n", "1:30", "expected a name of this file"},
    {"FixKind", "stream s\nalloc A 4K device\nexpect race-raw A s s fix pray\n", "3:27",
     "expected 'wait', 'record"},
    {"FixLane", "stream s\nalloc A 4K device\nexpect race-raw A s s fix wait s u\n", "3:34",
     "a stream, host thread"},
    {"FixOperation", "stream s\nalloc A 4K device\nexpect race-raw A s s fix pdl-wait k\n", "3:36",
     "a label or kernel"},
    {"StruckRace", "stream s\nalloc A 4K device\nexpect race-raw A s s struck\n", "3:23",
     "'fix' or the end"},
    {"SecondMissing", "stream s\nalloc A 4K device\nexpect race-raw A s\n", "3:20",
     "expected a label, stream"},
};
INSTANTIATE_TEST_SUITE_P(Expectations, Refused, testing::ValuesIn(kExpectations), CaseName);

struct CaptureCase {
  const char* name;
  const char* line;
  const char* place;
  const char* message;
};

class RefusedInCapture : public testing::TestWithParam<CaptureCase> {};

TEST_P(RefusedInCapture, NamesPlaceAndExpectation) {
  std::string text = std::string(kCapture) + GetParam().line + "\nend\n";
  Result<LitmusFile> file = ParseLitmus(text, "f.litmus");
  ASSERT_FALSE(file.has_value()) << "accepted: " << GetParam().line;
  EXPECT_EQ(file.error().place, fmt::format("f.litmus:{}", GetParam().place))
      << file.error().Text();
  EXPECT_NE(file.error().Text().find(GetParam().message), std::string::npos) << file.error().Text();
}

const CaptureCase kInCapture[] = {
    {"OutsideEvent", "s: wait E", "6:9",
     "expected an event recorded in this capture, or 'external'"},
    {"NeverRecorded", "s: wait never", "6:9", "expected an event recorded in this capture"},
    {"StrayStream", "t: kernel k read A", "6:1", "found 't', expected a stream that is captured"},
    {"StrayWait", "t: wait E", "6:1", "found 't', expected a stream that is captured"},
    {"StrayExternal", "t: wait E external", "6:1", "found 't', expected a stream that is captured"},
    {"WaitForStray", "s: wait_stream t", "6:16", "found 't', expected a stream that is captured"},
    {"Sync", "sync s", "6:1", "found 'sync', expected a line that can be captured"},
    {"SyncDevice", "sync device", "6:1", "found 'sync'"},
    {"Query", "query E done", "6:1", "found 'query'"},
    {"BlockingCopy", "s: copy_sync A <- A", "6:4", "found 'copy_sync'"},
    {"Nested", "capture H on t", "6:9", "expected 'end' first: 'G' is being captured"},
    {"Rank", "rank 1", "6:6", "expected 'end' before another rank"},
    {"StrayFill", "fill A on t", "6:11", "found 't'"},
    {"StrayMallocAsync", "malloc_async B 4K on t", "6:22", "found 't'"},
};
INSTANTIATE_TEST_SUITE_P(Capture, RefusedInCapture, testing::ValuesIn(kInCapture),
                         [](const testing::TestParamInfo<CaptureCase>& info) {
                           return info.param.name;
                         });

const Case kCaptureEnds[] = {
    {"NoEnd", "stream s\ncapture G on s\n", "3:1",
     "expected 'end' of the capture of 'G' in line 2"},
    {"StrayEnd", "end\n", "1:1", "none is open"},
    {"Legacy", "stream n legacy\ncapture G on n\n", "2:14", "the legacy stream cannot"},
    {"GraphTwice", "stream s\ncapture G on s\nend\ncapture G on s\nend\n", "4:9",
     "expected a new name"},
    {"OtherThreadsLane", "host w\nstream p per-thread\ncapture G on p\n@w p: kernel k\nend\n",
     "4:4", "found 'p'"},
};
INSTANTIATE_TEST_SUITE_P(CaptureEnds, Refused, testing::ValuesIn(kCaptureEnds), CaseName);

TEST(Refused, AHugeProgramOfAllocationsRunsOutOfAddressesNotOfBounds) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("alloc A{} 1024G device\n", i);
  Result<LitmusFile> file = ParseLitmus(text, "f.litmus");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message.find("a rank has 128T in all"), std::string::npos)
      << file.error().Text();
}

TEST(ExpectedErrorLine, IsReadOrRefused) {
  auto expected = ParseExpectedError("#!error 3:12 memory that  \nrest");
  ASSERT_TRUE(expected.has_value());
  EXPECT_EQ(expected->line, 3);
  EXPECT_EQ(expected->column, 12);
  EXPECT_EQ(expected->text, "memory that");
  EXPECT_FALSE(ParseExpectedError("#!error 3 memory").has_value());
  EXPECT_FALSE(ParseExpectedError("#!error x:1 memory").has_value());
  EXPECT_FALSE(ParseExpectedError("# plain comment").has_value());
  EXPECT_FALSE(ParseExpectedError("").has_value());
}

std::string Reserved(const char* text) { return std::string(kReserved) + text; }

TEST(RefusedVirtual, MappingsAndBlocks) {
  const struct {
    const char* line;
    const char* column;
    const char* message;
  } kCases[] = {
      {"map V[4K:12K] H3\n", "5",
       "expected a range in which nothing is mapped (line 4 mapped there)"},
      {"map V[8K:12K] H1\n", "15",
       "expected physical memory that is mapped nowhere (mapped in line 3)"},
      {"map V[8K:16K] H1\n", "15", "expected physical memory of 8K; this is 4K"},
      {"map A H3\n", "5", "expected a range reserved above"},
      {"map V[8K:12K]\n", "14", "expected a name for the physical memory"},
      {"unmap V[2K:8K]\n", "7", "expected a range without live blocks"},
      {"unmap V[6K:8K]\n", "7", "expected whole mappings (line 4 mapped more)"},
      {"unmap V[4K:12K]\n", "7", "expected bytes that are mapped"},
      {"s: read V\n", "9", "nothing is mapped 8192 bytes behind the first of them"},
      {"alloc B 4K on s at V[2K:6K]\n", "20", "the block of line 5 has not been freed"},
      {"alloc B 8K on s at V[4K:8K]\n", "20", "expected a range of 8K (it has 4K)"},
      {"alloc B 4K on s at V[8K:12K]\n", "20", "expected bytes that are mapped"},
      {"free V\n", "6", "this is a reserved range"},
      {"free A\nalloc B 4K on s reuse A\n", "23",
       "expected a freed buffer outside reserved ranges"},
      {"record_stream V s\n", "15", "this is a reserved range"},
      {"reserve V 4K\n", "9", "the buffer of line 2 has not been freed"},
      {"capture G on s\nunmap V[4K:8K]\n", "1", "mappings are no work of a stream"},
  };
  for (const auto& c : kCases) {
    const std::string text = Reserved(c.line);
    Result<LitmusFile> file = ParseLitmus(text, "f.litmus");
    ASSERT_FALSE(file.has_value()) << c.line;
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(file.error().place, fmt::format("f.litmus:{}:{}", lines, c.column)) << c.line;
    EXPECT_NE(file.error().Text().find(c.message), std::string::npos) << file.error().Text();
  }
}

TEST(RefusedVirtual, NotWhatIsUnmappedAndMappedAgain) {
  EXPECT_TRUE(ParseLitmus(Reserved("unmap V[4K:8K]\nmap V[8K:12K] H2\nmap V[4K:8K] H3\n"
                                   "s: read V[0:12K]\n"),
                          "f.litmus"));
  EXPECT_TRUE(ParseLitmus(Reserved("unmap V[4K:8K]\ns: read V[0:8K]\n"), "f.litmus"))
      << "a use behind the end is a fault that a file can show";
}

}  // namespace
}  // namespace ss
