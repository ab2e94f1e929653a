// Graphs: from the records of capture, nodes and launches to the words of the capture language.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

constexpr uint64_t kX = 0x7f00'0000'0000, kGraph = 0x100, kExec = 0x200, kPool = 0x300;

class Graphs : public ::testing::Test {
 protected:
  Graphs() {
    feed.Context().Streams();
    feed.Call(0, trace::Alloc{.address = kX, .bytes = 0x1000, .kind = 1, .context = kContext});
  }
  void Begin() {
    feed.Call(0, CaptureBegin{.stream = kStreamA, .context = kContext, .graph = kGraph});
  }
  void End() { feed.Call(0, CaptureEnd{.stream = kStreamA, .context = kContext, .graph = kGraph}); }
  // A node that writes one byte of kX, so that its place tells it.
  void Work(uint64_t at, uint64_t node, uint64_t stream = 0, uint64_t exec = 0) {
    feed.Call(0, trace::Memset{.destination = kX + at,
                               .bytes = 1,
                               .stream = stream,
                               .context = kContext,
                               .graph_node = node,
                               .graph_exec = exec});
  }
  void ByHand(uint64_t node, std::vector<uint64_t> after, bool work = true, uint64_t child = 0) {
    if (work) Work(node & 0xff, node);
    feed.Call(0, trace::GraphNode{.graph = kGraph, .node = node, .child = child});
    std::vector<uint64_t> edges;
    for (uint64_t before : after) edges.insert(edges.end(), {before, node, 0});
    feed.Call(0, GraphEdges{.edges = edges});
  }
  void Record(uint64_t stream, uint64_t event = kEventE) {
    feed.Call(0, trace::EventRecord{
                     .event = event, .stream = stream, .context = kContext, .graph_node = 1});
  }
  void Wait(uint64_t stream, uint64_t event = kEventE) {
    feed.Call(0, trace::StreamWaitEvent{
                     .stream = stream, .context = kContext, .event = event, .graph_node = 1});
  }
  void Instantiate() { feed.Call(0, GraphInstantiate{.graph = kGraph, .exec = kExec}); }
  void Launch() {
    feed.Call(0, GraphLaunch{.exec = kExec, .stream = kStreamB, .context = kContext});
  }

  // What the model was told of the latest form of the graph: `branch:what`, branches by first use.
  std::string Told() {
    feed.End();
    std::string text;
    std::vector<StreamId> branches;
    for (const Seen& one : feed.seen) {
      const OpKind kind = one.op.kind;
      if (kind == OpKind::kCaptureBegin) text.clear(), branches.clear();
      if (kind == OpKind::kGraphLaunch) text += " launch";
      if (one.op.stream == 0 || kind == OpKind::kStreamCreate || kind == OpKind::kGraphLaunch)
        continue;
      auto at = std::find(branches.begin(), branches.end(), one.op.stream);
      if (kind == OpKind::kMemset) {
        text += " " + std::to_string(at - branches.begin()) + ":" +
                std::to_string(one.accesses[0].begin - kX);
      } else if (kind == OpKind::kEventRecord) {
        text += " " + std::to_string(at - branches.begin()) + ":record";
      } else if (kind == OpKind::kStreamWaitEvent) {
        text += " " + std::to_string(at - branches.begin()) + ":wait";
      }
      if (at == branches.end()) branches.push_back(one.op.stream);
    }
    return text;
  }

  Feeder feed;
};

TEST_F(Graphs, CapturedForkAndJoin) {
  for (uint64_t event : {kEventE, kEventE + 1})
    feed.Call(0, EventCreate{.event = event, .context = kContext});
  Begin();
  Work(1, 0x11, kStreamA);
  Record(kStreamA);
  Wait(kStreamB);
  Work(2, 0x12, kStreamB);
  Work(3, 0x13, kStreamA);
  Record(kStreamB, kEventE + 1);
  Wait(kStreamA, kEventE + 1);
  Work(4, 0x14, kStreamA);
  End();
  Instantiate();
  EXPECT_TRUE(feed.Of(OpKind::kMemset).empty());  // nothing runs while it is captured
  Launch();
  Launch();
  EXPECT_EQ(Told(),
            " 0:record 1:wait 0:1 0:record 1:wait 1:2 1:record 0:3 0:wait 0:4 launch launch");
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Graphs, ByHandInTheOrderOfTheEdgesNotOfTheirMaking) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x13, {});
  ByHand(0x11, {});
  ByHand(0x12, {});
  feed.Call(0, GraphEdges{.edges = {0x11, 0x12, 0, 0x12, 0x13, 0}});
  Instantiate();
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:17 0:18 0:19 launch");
}

TEST_F(Graphs, EmptyAndDisabledNodesPassOn) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  ByHand(0x12, {0x11}, false);
  ByHand(0x13, {0x12});
  ByHand(0x14, {0x13});
  Instantiate();
  feed.Call(0, GraphNodeChange{.exec = kExec, .node = 0x13, .enabled = 0});
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:17 0:20 launch");
}

TEST_F(Graphs, RemovedEdgesAndNodesAreGone) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  ByHand(0x12, {0x11});
  ByHand(0x13, {0x12});
  feed.Call(0, GraphEdges{.edges = {0x11, 0x12, 0}, .removed = 1});
  feed.Call(0, GraphNodeEnd{0x13});
  Instantiate();
  Launch();
  EXPECT_EQ(Told(), " 0:record 1:wait 0:17 1:18 launch");
}

TEST_F(Graphs, ChangesOfTheExecutableGraphAreToldBeforeTheNextLaunch) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  Instantiate();
  Launch();
  Work(5, 0x11, 0, kExec);
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:5 launch");
  EXPECT_EQ(feed.Of(OpKind::kCaptureBegin).size(), 2u);
  EXPECT_EQ(feed.Of(OpKind::kCaptureBegin)[0].op.object,
            feed.Of(OpKind::kCaptureBegin)[1].op.object);
}

TEST_F(Graphs, ChangesOfTheGraphAreNotSeenByWhatWasMadeOfIt) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  Instantiate();
  Work(5, 0x11);
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:17 launch");
}

TEST_F(Graphs, UpdateTakesOverWhatTheOtherGraphDoes) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  Instantiate();
  feed.Call(0, GraphDestroy{kGraph}).Call(0, GraphCreate{kGraph});
  ByHand(0x21, {});
  feed.Call(0, GraphExecUpdate{.exec = kExec, .graph = kGraph});
  Work(6, 0x11, 0, kExec);  // still known by the first graph's node
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:6 launch");
}

TEST_F(Graphs, ChildIsACopyOfThatMoment) {
  feed.Call(0, GraphCreate{kGraph + 1});
  Work(1, 0x31);
  feed.Call(0, trace::GraphNode{.graph = kGraph + 1, .node = 0x31});
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  ByHand(0x12, {0x11}, false, kGraph + 1);
  ByHand(0x13, {0x12});
  Work(9, 0x31);  // too late
  Instantiate();
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:17 0:1 0:19 launch");
}

TEST_F(Graphs, BrokenCaptureLeavesNothing) {
  Begin();
  Work(1, 0x11, kStreamA);
  feed.Call(0, CaptureEnd{.stream = kStreamA, .context = kContext, .result = 901});
  Work(2, 0, kStreamA);
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kMemset).accesses[0].begin, kX + 2);
}

TEST_F(Graphs, WhatIsSwitchedOffStaysSoWhenAllIsUpdated) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  ByHand(0x12, {0x11});
  Instantiate();
  feed.Call(0, GraphNodeChange{.exec = kExec, .node = 0x11, .enabled = 0});
  feed.Call(0, GraphExecUpdate{.exec = kExec, .graph = kGraph});
  Launch();
  EXPECT_EQ(Told(), " 0:record 0:18 launch");
}

// One event in two captures at once: a wait belongs to the latter.
TEST_F(Graphs, LatestRecordOfAnEventSaysWhichCaptureAWaitJoins) {
  constexpr uint64_t kStreamC = 0xC00, kOther = kGraph + 1;
  feed.Call(0, trace::StreamCreate{.stream = kStreamC, .context = kContext, .flags = 1});
  for (uint64_t first : {kStreamA, kStreamB}) {
    const uint64_t second = first == kStreamA ? kStreamB : kStreamA;
    feed.Call(0, CaptureBegin{.stream = kStreamA, .context = kContext, .graph = kGraph});
    feed.Call(0, CaptureBegin{.stream = kStreamB, .context = kContext, .graph = kOther});
    Work(1, 0x11, first);
    Record(first);
    Work(2, 0x12, second);
    Record(second);
    Wait(kStreamC);
    Work(3, 0x13, kStreamC);
    feed.Call(0, CaptureEnd{.stream = kStreamA, .context = kContext, .graph = kGraph});
    feed.Call(0, CaptureEnd{.stream = kStreamB, .context = kContext, .graph = kOther});
    const uint64_t joined = second == kStreamA ? kGraph : kOther;
    feed.Call(0, GraphInstantiate{.graph = joined, .exec = kExec});
    Launch();
    feed.Call(0, GraphDestroy{kGraph});
    feed.Call(0, GraphDestroy{kOther});
    EXPECT_NE(Told().find("0:2 0:record 1:wait 1:3 launch"), std::string::npos) << Told();
  }
}

// The node that frees it is made before the launches that use it are.
TEST_F(Graphs, WhatAGraphFreesLivesUntilThen) {
  constexpr uint64_t kAt = kX + 0x2000;
  feed.Call(0, GraphCreate{kGraph});
  feed.Call(0, trace::AllocAsync{
                   .address = kAt, .bytes = 0x100, .context = kContext, .graph_node = 0x11});
  feed.Call(0, trace::GraphNode{.graph = kGraph, .node = 0x11});
  Instantiate();
  Launch();
  feed.Call(0, GraphCreate{kGraph + 1});
  feed.Call(0, trace::FreeAsync{.address = kAt, .context = kContext, .graph_node = 0x21});
  feed.Call(0, trace::GraphNode{.graph = kGraph + 1, .node = 0x21});
  feed.Call(0,
            trace::Memset{.destination = kAt, .bytes = 1, .stream = kStreamB, .context = kContext});
  feed.End();
  EXPECT_EQ(feed.The(OpKind::kMemset).accesses[0].memory, MemoryKind::kPool);
}

// A thread's handle comes back while another one is still in the call that gave it up.
TEST_F(Graphs, ExecutableGraphLivesFromTheReturnOfItsMaking) {
  Begin();
  Work(1, 0x11, kStreamA);
  End();
  Instantiate();
  const uint64_t at = feed.seq();
  feed.At(0, at + 1, at + 5, GraphInstantiate{.graph = kGraph, .exec = kExec});
  feed.At(1, at + 2, at + 3, GraphExecDestroy{kExec});
  Launch();
  EXPECT_NE(Told().find("launch"), std::string::npos);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

// What is changed in a child within its parent is not followed, and said so.
TEST_F(Graphs, ChangesOfAnEmbeddedChildAreCounted) {
  feed.Call(0, GraphCreate{kGraph});
  ByHand(0x11, {});
  Work(1, 0x77);                                                      // changed
  feed.Call(0, trace::GraphNode{.graph = kGraph + 7, .node = 0x78});  // added
  Instantiate();
  Launch();
  feed.End();
  EXPECT_TRUE(feed.HasNote(2, "uses of graphs or nodes whose making was not seen"));
}

TEST_F(Graphs, WhatAnAllocatorHandsOutMeanwhileStaysTheGraphs) {
  auto alloc = [&] {
    feed.Note(0, NotePoolAlloc{.pool = kPool,
                               .address = kX + 0x100,
                               .bytes = 0x100,
                               .stream = kStreamA,
                               .context = kContext});
  };
  Begin();
  alloc();
  Work(0x100, 0x11, kStreamA);
  End();
  Instantiate();
  Launch();
  feed.Note(0, NotePoolFree{.pool = kPool, .address = kX + 0x100});
  alloc();  // the allocator restores its lists
  Launch();
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kAlloc).size(), 2u);  // of kX, and in the graph
  EXPECT_TRUE(feed.Of(OpKind::kFree).empty());
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Graphs, UnknownGraphsAreCounted) {
  Launch();
  feed.End();
  EXPECT_TRUE(feed.Of(OpKind::kGraphLaunch).empty());
  EXPECT_TRUE(feed.HasNote(1, "uses of graphs or nodes whose making was not seen"));
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST_F(Graphs, MappedRangeEndsWithItsPieces) {
  constexpr uint64_t kMapped = 0x7e00'0000'0000;
  for (uint64_t piece = 0; piece < 2; ++piece) {
    feed.Call(0, trace::Alloc{.address = kMapped + piece * 0x1000,
                              .bytes = 0x1000,
                              .kind = 5,
                              .context = kContext,
                              .handle = piece + 1});
  }
  feed.Call(0, trace::Free{.address = kMapped, .kind = 5, .bytes = 0x2000});
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kFree).size(), 2u);
  for (const auto& free : feed.Of(OpKind::kFree)) {
    EXPECT_EQ(free.op.flags, kNoBarrier) << "cuMemUnmap waits for nothing";
  }
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(Graphs, WaitForAnotherProcessesEventIsCounted) {
  feed.Call(0, EventCreate{.event = kEventE, .context = kContext, .foreign = 1});
  feed.Call(0, trace::Shared{.kind = 2, .opened = 1, .object = kEventE, .handle = "h"});
  feed.Call(0, StreamWaitEvent{.stream = kStreamA, .context = kContext, .event = kEventE});
  feed.End();
  EXPECT_TRUE(feed.The(OpKind::kStreamWaitEvent).op.flags & kForeign);
  ASSERT_EQ(feed.importer.shared().size(), 1u);
  EXPECT_EQ(feed.importer.shared()[0].waits, 1u);
}

}  // namespace
}  // namespace ss
