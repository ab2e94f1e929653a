// What statements lower to. The dump names streams, hosts and buffers, so that a case can be read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "src/litmus/litmus.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

class Lowered {
 public:
  explicit Lowered(const std::string& text) {
    Result<LitmusFile> file = ParseLitmus(text, "f.litmus");
    if (!file) {
      ADD_FAILURE() << file.error().Text();
      return;
    }
    file_ = std::move(*file);
    for (const Op& op : program().ops) Learn(op);
  }

  const Program& program() const { return file_.program; }
  const LitmusFile& file() const { return file_; }
  const std::string& Text(StringId id) const { return program().strings.Get(id); }

  // The operations of a source line, e.g. "main s kernel:k read X[0:4096]".
  std::string Line(uint32_t line) const {
    std::string text;
    for (const Op& op : program().ops) {
      if (op.line == line) text += (text.empty() ? "" : "; ") + Show(op);
    }
    return text;
  }
  const Op& First(uint32_t line) const {
    for (const Op& op : program().ops) {
      if (op.line == line) return op;
    }
    ADD_FAILURE() << "no operation in line " << line;
    return program().ops.front();
  }

 private:
  struct Range {
    std::string name;
    uint64_t begin, end;
  };

  void Learn(const Op& op) {
    if (op.kind == OpKind::kHostBegin) hosts_[op.host] = Text(op.name);
    if (op.kind == OpKind::kStreamCreate) streams_[op.stream] = Text(op.name);
    if (op.kind != OpKind::kAlloc && op.kind != OpKind::kAllocAsync) return;
    const Access& whole = program().accesses[op.access_begin];
    buffers_.push_back({Text(op.name), whole.begin, whole.end});
  }

  std::string Show(const Op& op) const {
    std::string text =
        fmt::format("{} {} {}:{}", hosts_.at(op.host), op.stream ? streams_.at(op.stream) : "-",
                    Name(op.kind), Text(op.name));
    for (uint32_t i = 0; i < op.access_count; ++i) {
      const Access& access = program().accesses[op.access_begin + i];
      text += fmt::format(" {} {}", access.mode ? ModeName(access.mode) : "range", Show(access));
    }
    return op.label ? text + " as " + Text(op.label) : text;
  }

  std::string Show(const Access& access) const {
    for (const Range& range : buffers_) {
      if (access.begin < range.begin || access.end > range.end) continue;
      return fmt::format("{}[{}:{}] {}", range.name, access.begin - range.begin,
                         access.end - range.begin, Name(access.memory));
    }
    return fmt::format("nowhere {:x}", access.begin);
  }

  LitmusFile file_;
  std::map<HostId, std::string> hosts_;
  std::map<StreamId, std::string> streams_;
  std::vector<Range> buffers_;
};

TEST(Lowering, StartsWithMainAndNumbersEveryOperation) {
  Lowered file("title \"t\"\nmode strict\nhost w\nstream s blocking device 3\n");
  const auto& ops = file.program().ops;
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].kind, OpKind::kHostBegin);
  EXPECT_EQ(file.Text(ops[0].name), "main");
  EXPECT_EQ(ops[1].kind, OpKind::kHostBegin);
  EXPECT_EQ(file.Text(ops[1].name), "w");
  EXPECT_EQ(ops[1].host, 1);
  EXPECT_EQ(ops[2].aux, static_cast<uint32_t>(StreamType::kBlocking));
  EXPECT_EQ(ops[2].value, 3u | 3u << 16);
  for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(ops[i].id, i + 1);
  EXPECT_TRUE(file.program().strict && file.program().strict_stated);
  EXPECT_EQ(file.program().title, "t");
}

TEST(Lowering, AFileWithoutAnOperationIsAProgramWithAMainThread) {
  Lowered file("title \"nothing\"\n");
  ASSERT_EQ(file.program().ops.size(), 1u);
  EXPECT_EQ(file.program().ops[0].kind, OpKind::kHostBegin);
  EXPECT_FALSE(file.program().strict_stated);
}

TEST(Lowering, KernelsNameTheirAccessesInAnyOrderOfClauses) {
  Lowered file(
      "stream s\nalloc A 4K device\nalloc peer 8K on s\n"
      "s: kernel gemm read A peer[1K:2K] write A as L\n"
      "s: as M atomic A kernel k2\n"
      "s: read A\n");
  EXPECT_EQ(file.Line(4),
            "main s kernel:gemm read A[0:4096] device read peer[1024:2048] caching allocator "
            "write A[0:4096] device as L");
  EXPECT_EQ(file.Line(5), "main s kernel:k2 atomic A[0:4096] device as M");
  EXPECT_EQ(file.Line(6), "main s kernel:kernel read A[0:4096] device");
}

TEST(Lowering, HostsIssueWithAtOrColon) {
  Lowered file(
      "host w\nstream s\nalloc H 4K pinned\n@w s: kernel k\n@w read H\nw: read H\nmain: write "
      "H[0:1] read H as L\n"
      "write H\nhandoff w main\n@w sync s\n");
  EXPECT_EQ(file.Line(4), "w s kernel:k");
  EXPECT_EQ(file.Line(5), "w - host access:read read H[0:4096] pinned");
  EXPECT_EQ(file.Line(5), file.Line(6));
  EXPECT_EQ(file.Line(7),
            "main - host access:write write H[0:1] pinned read H[0:4096] pinned as L");
  EXPECT_EQ(file.Line(8), "main - host access:write write H[0:4096] pinned");
  EXPECT_EQ(file.First(9).kind, OpKind::kHandoff);
  EXPECT_EQ(file.First(9).host, 1);
  EXPECT_EQ(file.First(9).object, 0u);
  EXPECT_EQ(file.First(10).kind, OpKind::kStreamSync);
  EXPECT_EQ(file.First(10).host, 1);
}

TEST(Lowering, CopiesReadTheSourceFirst) {
  Lowered file(
      "stream s\nalloc D 4K device\nalloc P 8K pageable\ns: copy D <- P[4K:8K] as up\ns: copy_sync "
      "P[0:4K]<-D\n"
      "s: memset D\ns: memset_async D[0:1K]\n");
  EXPECT_EQ(file.Line(4),
            "main s copy:copy read P[4096:8192] pageable write D[0:4096] device as up");
  EXPECT_EQ(file.First(4).flags, 0);
  EXPECT_EQ(file.Line(5), "main s copy:copy_sync read D[0:4096] device write P[0:4096] pageable");
  EXPECT_EQ(file.First(5).flags, kBlocking);
  EXPECT_EQ(file.First(6).flags, kBlocking);
  EXPECT_EQ(file.Line(7), "main s memset:memset_async write D[0:1024] device");
  EXPECT_EQ(file.First(7).flags, 0);
}

TEST(Lowering, ReuseIsTheSameAddressAndANewTenant) {
  Lowered file(
      "stream s\nstream t\nalloc A 4K on s\nfree A\nalloc B 1K on t reuse A\nalloc C 4K on s\n");
  const Program& program = file.program();
  const Op& a = file.First(3);
  const Op& b = file.First(5);
  const Op& c = file.First(6);
  const Access& old_range = program.accesses[a.access_begin];
  const Access& new_range = program.accesses[b.access_begin];
  EXPECT_EQ(old_range.begin, new_range.begin);
  EXPECT_EQ(new_range.end - new_range.begin, 1024u);
  EXPECT_NE(a.object, b.object);
  EXPECT_EQ(b.stream, file.First(2).stream);
  EXPECT_EQ(b.flags, kReuse);
  EXPECT_GT(program.accesses[c.access_begin].begin, old_range.end)
      << "fresh storage has a hole before it";
  EXPECT_EQ(file.First(4).kind, OpKind::kFree);
  EXPECT_EQ(file.First(4).object, a.object);
}

TEST(Lowering, AllocationsSayOwnerDeviceAndMemory) {
  Lowered file(
      "stream s device 2\nalloc A 4K on s\nalloc D 4K device device 1\nalloc H 4K "
      "pinned\nmalloc_async P 4K on s\n"
      "free_async P on s\nmalloc_async Q 4K on s reuse P\nrecord_stream A s\nfill A\nfill H on s "
      "as init\nfree H\n");
  EXPECT_EQ(file.Line(2), "main s alloc:A range A[0:4096] caching allocator");
  EXPECT_EQ(file.First(2).value, 2u);
  EXPECT_EQ(file.Line(3), "main - alloc:D range D[0:4096] device");
  EXPECT_EQ(file.First(3).value, 1u);
  EXPECT_EQ(file.Line(4), "main - alloc:H range H[0:4096] pinned");
  EXPECT_EQ(file.First(5).kind, OpKind::kAllocAsync);
  EXPECT_EQ(file.First(6).kind, OpKind::kFreeAsync);
  EXPECT_EQ(file.First(6).object, file.First(5).object);
  EXPECT_EQ(file.First(7).flags, kReuse);
  EXPECT_EQ(file.First(8).kind, OpKind::kRecordStream);
  EXPECT_EQ(file.First(8).object, file.First(2).object);
  EXPECT_EQ(file.Line(9), "main s kernel:fill write A[0:4096] caching allocator");
  EXPECT_EQ(file.First(9).flags, kFill);
  EXPECT_EQ(file.Line(10), "main s kernel:fill write H[0:4096] pinned as init");
}

TEST(Lowering, AMappingIsAnAllocationAndItsUnmappingAFree) {
  Lowered file(
      "stream s\nreserve V 8K\nmap V[0:4K] H1\nmap V[4K:8K] H2 device 1 as grow\ns: write V\n"
      "unmap V as shrink\nmap V H3\n");
  const Program& program = file.program();
  const Op& first = file.First(3);
  const Op& second = file.First(4);
  EXPECT_EQ(file.Line(3), "main - alloc:V range V[0:4096] device");
  EXPECT_EQ(second.kind, OpKind::kAlloc);
  EXPECT_EQ(second.value, 1u);
  EXPECT_EQ(program.strings.Get(second.label), "grow");
  EXPECT_NE(first.object, second.object);
  const Access& low = program.accesses[first.access_begin];
  const Access& high = program.accesses[second.access_begin];
  const Access& both = program.accesses[file.First(5).access_begin];
  EXPECT_EQ(low.end, high.begin);
  EXPECT_EQ(both.begin, low.begin);
  EXPECT_EQ(both.end, high.end);
  const Op& free = file.First(6);
  const Op& free_too = program.ops[free.id];  // ids count from 1
  EXPECT_EQ(free.kind, OpKind::kFree);
  EXPECT_EQ(free.object, first.object);
  EXPECT_EQ(free_too.object, second.object);
  EXPECT_EQ(program.strings.Get(free_too.label), "shrink");
  EXPECT_EQ(free.flags, kNoBarrier);
  EXPECT_EQ(program.accesses[file.First(7).access_begin].begin, low.begin);
  EXPECT_NE(file.First(7).object, first.object);
}

TEST(Lowering, ASegmentWithBlocksInItEndsUnjudged) {
  Lowered file(
      "stream s\nreserve V 8K\nmap V[0:4K] H1\nmap V[4K:8K] H2\nalloc A 2K on s at V[1K:3K]\n"
      "free A\nunmap V\n");
  const Program& program = file.program();
  const Op& block = file.First(5);
  EXPECT_EQ(block.stream, file.First(1).stream);
  EXPECT_EQ(program.accesses[block.access_begin].memory, MemoryKind::kCaching);
  EXPECT_EQ(program.accesses[block.access_begin].begin,
            program.accesses[file.First(3).access_begin].begin + 1024);
  EXPECT_EQ(file.First(7).flags, kNoBarrier | kImplicitEnd);
  EXPECT_EQ(program.ops[file.First(7).id].flags, kNoBarrier)
      << "no block was cut from the second mapping";
}

TEST(Lowering, AViewIsBytesOfItsBuffer) {
  Lowered file(
      "stream s\nalloc A 8K device\nview hi A[4K:8K]\nview top hi[3K:4K]\ns: write hi\ns: read "
      "top[0:1]\n");
  EXPECT_EQ(file.Line(5), "main s kernel:kernel write A[4096:8192] device");
  EXPECT_EQ(file.Line(6), "main s kernel:kernel read A[7168:7169] device");
}

TEST(Lowering, EventsKeepOneIdUnderOneName) {
  Lowered file(
      "stream s\nstream t\ns: record E\nt: wait E\nsync E\nquery E notready\nquery s done\nsync "
      "s\nt: wait F\n");
  uint32_t event = file.First(3).object;
  EXPECT_EQ(file.program().event_names.at(event), "E");
  for (uint32_t line : {4, 5, 6}) EXPECT_EQ(file.First(line).object, event) << line;
  EXPECT_EQ(file.First(4).kind, OpKind::kStreamWaitEvent);
  EXPECT_EQ(file.First(5).kind, OpKind::kEventSync);
  EXPECT_EQ(file.First(6).kind, OpKind::kEventQuery);
  EXPECT_EQ(file.First(6).flags, kNotReady);
  EXPECT_EQ(file.First(7).kind, OpKind::kStreamQuery);
  EXPECT_EQ(file.First(7).flags, 0);
  EXPECT_EQ(file.First(8).kind, OpKind::kStreamSync);
  EXPECT_NE(file.First(9).object, event);
}

TEST(Lowering, WaitStreamIsAFreshRecordAndAWait) {
  Lowered file("stream s\nstream t\ns: wait_stream t as w\ns: wait t\n");
  EXPECT_EQ(file.Line(3), "main t record:record; main s wait:wait_stream as w");
  const auto& ops = file.program().ops;
  EXPECT_EQ(ops[3].object, ops[4].object);
  EXPECT_NE(ops[3].object, 0u);
  EXPECT_EQ(ops[3].stream, file.First(2).stream);
  EXPECT_EQ(ops[4].aux, file.First(2).stream);
  EXPECT_EQ(file.Line(4), "main t record:record; main s wait:wait_stream")
      << "a stream's name means its work";
  EXPECT_NE(ops[5].object, ops[3].object);
}

TEST(Lowering, ADestroyedStreamThatComesBackIsAnother) {
  Lowered file("stream s\ns: kernel a\ndestroy s\nstream s\ns: kernel b\n");
  EXPECT_EQ(file.First(3).kind, OpKind::kStreamDestroy);
  EXPECT_EQ(file.First(3).stream, file.First(2).stream);
  EXPECT_NE(file.First(5).stream, file.First(2).stream);
}

TEST(Lowering, DeviceSyncNamesItsDevice) {
  Lowered file("sync device\nsync device 2\nrank 1\nsync device\n");
  EXPECT_EQ(file.First(1).kind, OpKind::kDeviceSync);
  EXPECT_EQ(file.First(1).aux, 0u);
  EXPECT_EQ(file.First(2).aux, 2u);
  EXPECT_EQ(file.First(4).value, 1u);
}

TEST(Lowering, ProgrammaticLaunchesAndLaunchEvents) {
  Lowered file(
      "stream s\ns: pdl kernel a\ns: pdl_wait kernel b\ns: kernel c launch_event E\ns: wait E\n");
  EXPECT_EQ(file.First(2).flags, kPdl);
  EXPECT_EQ(file.First(3).flags, kPdl | kPdlWait);
  EXPECT_EQ(file.First(4).flags, kLaunchEvent);
  EXPECT_EQ(file.First(4).object, file.First(5).object);
}

TEST(Lowering, CapturesAndLaunches) {
  Lowered file(
      "stream s\nstream t\ncapture G on s\ns: record E\nt: wait E\nt: kernel k\ns: wait X "
      "external\n"
      "s: record Y external\nend\nt: launch G\n");
  EXPECT_EQ(file.First(3).kind, OpKind::kCaptureBegin);
  EXPECT_EQ(file.First(3).stream, file.First(1).stream);
  EXPECT_EQ(file.program().graph_names.at(file.First(3).object), "G");
  EXPECT_EQ(file.First(7).flags, kExternal);
  EXPECT_EQ(file.First(8).flags, kExternal);
  EXPECT_EQ(file.First(9).kind, OpKind::kCaptureEnd);
  EXPECT_EQ(file.First(10).kind, OpKind::kGraphLaunch);
  EXPECT_EQ(file.First(10).object, file.First(3).object);
}

TEST(Lowering, SignalsNameTheirFlagsRank) {
  Lowered file(
      "rank 0\nstream s\ns: signal F 7 rank 1 no_barrier\nrank 1\nstream s\ns: await F 7\ns: await "
      "G 0 rank 0\n");
  EXPECT_EQ(file.First(3).kind, OpKind::kSignal);
  EXPECT_EQ(file.First(3).flags, kNoBarrier);
  EXPECT_EQ(file.First(3).value, 7u);
  EXPECT_EQ(file.First(3).aux, 1u);
  EXPECT_EQ(file.First(6).kind, OpKind::kAwait);
  EXPECT_EQ(file.First(6).object, file.First(3).object);
  EXPECT_EQ(file.First(6).aux, 1u);
  EXPECT_NE(file.First(7).object, file.First(3).object);
  EXPECT_EQ(file.program().flag_names.at(file.First(7).object), "G");
}

TEST(Lowering, CollectivesShareACommunicatorAcrossRanks) {
  Lowered file(
      "rank 0\nstream s\nalloc X 4K device\ns: collective C broadcast root 1 read X as b\ns: "
      "collective C send peer 1\n"
      "rank 1\nstream s\nalloc X 4K device\ns: collective C broadcast write X[0:1K] root 1\ns: "
      "collective D barrier\n");
  EXPECT_EQ(file.Line(4), "main s collective:broadcast read X[0:4096] device as b");
  EXPECT_EQ(file.First(4).aux, static_cast<uint32_t>(CollectiveKind::kBroadcast));
  EXPECT_EQ(file.First(4).value, 2u) << "root plus one";
  EXPECT_EQ(file.First(5).value, 2u) << "peer plus one";
  EXPECT_EQ(file.First(9).object, file.First(4).object);
  EXPECT_EQ(file.First(10).value, 0u);
  EXPECT_EQ(file.program().comm_names.at(file.First(10).object), "D");
}

TEST(Lowering, RanksHaveTheirOwnThreadsNamesAndAddresses) {
  Lowered file(
      "rank 0\nstream s\nalloc A 4K device\nrank 1\nstream s\nalloc A 4K device\nrank 0\ns: read "
      "A\n");
  const auto& ops = file.program().ops;
  EXPECT_EQ(ops[0].kind, OpKind::kHostBegin);
  EXPECT_EQ(ops[0].aux, 0u);
  EXPECT_EQ(ops[3].kind, OpKind::kHostBegin);
  EXPECT_EQ(ops[3].aux, 1u);
  EXPECT_EQ(ops[3].host, 1);
  EXPECT_NE(file.First(2).stream, file.First(5).stream);
  EXPECT_EQ(file.First(5).value >> 32, 1u);
  EXPECT_EQ(file.program().accesses[file.First(6).access_begin].begin >> 48, 1u);
  EXPECT_EQ(file.First(8).host, 0) << "a section may be opened again";
  EXPECT_EQ(file.First(8).stream, file.First(2).stream);
}

TEST(Lowering, APeersBufferIsFoundInBothDirections) {
  Lowered file(
      "rank 0\nstream s\nalloc A 4K device\ns: read B@1[1K:2K]\nrank 1\nstream s\nalloc B 8K "
      "pinned\n"
      "s: copy A@0 <- B[0:4K]\n");
  const Program& program = file.program();
  const Access& forward = program.accesses[file.First(4).access_begin];
  const Access& b = program.accesses[file.First(7).access_begin];
  EXPECT_EQ(forward.begin, b.begin + 1024);
  EXPECT_EQ(forward.end, b.begin + 2048);
  EXPECT_EQ(forward.memory, MemoryKind::kPinned);
  const Access& backward = program.accesses[file.First(8).access_begin + 1];
  EXPECT_EQ(backward.begin, program.accesses[file.First(3).access_begin].begin);
}

TEST(Lowering, NeedsNameTheRulesBeyondTheBasicOnes) {
  auto needs = [](const std::string& text) {
    Lowered file("stream s\nalloc A 4K device\n" + text);
    std::string list;
    for (const auto& need : file.file().needs) list += fmt::format("{}:{} ", need.rule, need.what);
    return list;
  };
  EXPECT_EQ(needs("s: kernel k read A\ns: record E\nsync E\n"), "");
  EXPECT_EQ(needs("s: kernel k launch_event E\n"), "7:launch_event ");
  EXPECT_EQ(needs("s: signal F 1\ns: signal F 2\ns: await F 2\n"), "11:signal 11:await ");
  EXPECT_EQ(needs("s: pdl read A\ns: pdl_wait read A\n"), "13:pdl 13:pdl_wait ");
  EXPECT_EQ(needs("capture G on s\nend\ns: launch G\n"), "14:capture ");
  EXPECT_EQ(needs("rank 1\nrank 0\n"), "23:rank ");
  EXPECT_EQ(needs("s: collective C barrier\n"), "23:collective 24:collective ");
  EXPECT_EQ(needs("s: read A@0\n"), "8:peer memory ");
}

TEST(Lowering, ExpectLinesKeepWhatTheySay) {
  Lowered file(
      "stream s\nstream t\nalloc A 4K on s\ns: write A as w\n"
      "expect lifetime A t fix record_stream A t struck\nexpect race-raw A w t\nexpect advice "
      "redundant-wait t\n"
      "expect advice implicit-sync\n");
  const auto& lines = file.file().expectations;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].code, "lifetime");
  EXPECT_EQ(lines[0].first, "t");
  EXPECT_EQ(lines[0].second, "");
  EXPECT_TRUE(lines[0].struck);
  ASSERT_TRUE(lines[0].fix.has_value());
  EXPECT_EQ(lines[0].fix->kind, FixKind::kRecordStream);
  EXPECT_EQ(lines[0].fix->a + " " + lines[0].fix->b, "A t");
  EXPECT_EQ(lines[1].first + " " + lines[1].second, "w t");
  EXPECT_EQ(lines[1].line, 6u);
  EXPECT_EQ(lines[2].kind, Expectation::Kind::kAdvice);
  EXPECT_EQ(lines[2].subject, "t");
  EXPECT_EQ(lines[3].subject, "");
}

TEST(Lowering, WindowsLinesAndTabsAreFine) {
  Lowered file("stream s\r\n\talloc A 4K device # comment\r\ns: kernel k read A\r\n");
  EXPECT_EQ(file.Line(3), "main s kernel:k read A[0:4096] device");
}

}  // namespace
}  // namespace ss
