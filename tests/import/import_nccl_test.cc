// NCCL's records: which operations they become, with which accesses.
#include <gtest/gtest.h>

#include "tests/import/feed.h"

namespace ss {
namespace {

using namespace trace;

constexpr uint64_t kX = 0x7f00'0000'0000, kY = 0x7f00'0010'0000;
constexpr uint64_t kComm = 0xCC0, kOther = 0xCC8;
constexpr uint64_t kFloat = 7, kBfloat16 = 9;  // ncclDataType_t
constexpr uint64_t kRank = 2, kRanks = 4;
enum Kind : uint64_t {
  kAllReduceCall = 1,
  kBroadcastCall,
  kReduceCall,
  kAllGatherCall,
  kReduceScatterCall,
  kAllToAllCall,
  kGatherCall,
  kScatterCall,
  kSendCall,
  kRecvCall
};

struct Piece {
  uint64_t begin, end;
  uint8_t mode;
  bool operator==(const Piece&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Piece& piece) {
  return out << std::hex << piece.begin << "-" << piece.end << " mode " << int{piece.mode};
}

std::vector<Piece> Pieces(const Seen& seen) {
  std::vector<Piece> pieces;
  for (const Access& access : seen.accesses) {
    pieces.push_back({access.begin, access.end, access.mode});
    EXPECT_EQ(access.direction, Evidence::kExact);
    EXPECT_EQ(access.extent, Evidence::kExact);
    EXPECT_EQ(access.memory, MemoryKind::kDevice);
  }
  return pieces;
}

class NcclImport : public ::testing::Test {
 protected:
  NcclImport() {
    feed.Context().Streams();
    for (uint64_t address : {kX, kY}) {
      feed.Call(0,
                trace::Alloc{.address = address, .bytes = 0x8000, .kind = 1, .context = kContext});
    }
    feed.Note(0, NcclComm{.comm = kComm, .how = 1, .rank = kRank, .ranks = kRanks});
  }

  void Ask(NcclCall call, uint64_t group = 1) {
    if (call.comm == 0) call.comm = kComm;
    if (call.datatype == 0) call.datatype = kFloat;
    if (call.stream == 0) call.stream = kStreamA;
    call.context = kContext;
    call.group = group;
    feed.Note(0, call);
  }
  void Queue(uint64_t group = 1, int64_t result = 0, uint64_t how = 0) {
    feed.Call(0, NcclGroupEnd{.group = group, .how = how, .result = result});
  }
  std::vector<Piece> PiecesOf(NcclCall call) {
    Ask(call);
    Queue();
    feed.End();
    return Pieces(feed.The(OpKind::kCollective));
  }
  Feeder feed;
};

TEST_F(NcclImport, AllReduceReadsAndWritesExactly) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kY, .count = 100, .peer = -1, .stack = 12});
  Queue();
  feed.End();
  const Seen seen = feed.The(OpKind::kCollective);
  EXPECT_EQ(Pieces(seen), (std::vector<Piece>{{kX, kX + 400, kRead}, {kY, kY + 400, kWrite}}));
  EXPECT_EQ(feed.NameOf(seen.op), "ncclAllReduce");
  EXPECT_EQ(seen.op.stream, 1u);
  EXPECT_EQ(seen.op.stack, 12u);
  EXPECT_EQ(seen.op.aux, static_cast<uint32_t>(CollectiveKind::kAllReduce));
  EXPECT_EQ(seen.op.value, 0u);
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(NcclImport, DatatypeDecidesTheExtent) {
  EXPECT_EQ(PiecesOf({.kind = kSendCall, .send = kX, .count = 3, .datatype = kBfloat16, .peer = 0}),
            (std::vector<Piece>{{kX, kX + 6, kRead}}));
}

TEST_F(NcclImport, UnknownDatatypeIsCounted) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kY, .count = 100, .datatype = 99});
  Queue();
  feed.End();
  EXPECT_TRUE(feed.The(OpKind::kCollective).accesses.empty());
  EXPECT_TRUE(feed.HasNote(1, "NCCL operations of unknown datatype"));
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST_F(NcclImport, AllGatherWritesAllRanks) {
  EXPECT_EQ(PiecesOf({.kind = kAllGatherCall, .send = kX, .receive = kY, .count = 16}),
            (std::vector<Piece>{{kX, kX + 64, kRead}, {kY, kY + 256, kWrite}}));
}

TEST_F(NcclImport, AllGatherInPlaceLeavesItsOwnPart) {
  const uint64_t own = kY + kRank * 64;
  EXPECT_EQ(PiecesOf({.kind = kAllGatherCall, .send = own, .receive = kY, .count = 16}),
            (std::vector<Piece>{
                {own, own + 64, kRead}, {kY, own, kWrite}, {own + 64, kY + 256, kWrite}}));
}

TEST_F(NcclImport, ReduceScatterReadsAllRanks) {
  EXPECT_EQ(PiecesOf({.kind = kReduceScatterCall, .send = kX, .receive = kY, .count = 16}),
            (std::vector<Piece>{{kX, kX + 256, kRead}, {kY, kY + 64, kWrite}}));
}

TEST_F(NcclImport, AllToAllTouchesAllRanksOnBothSides) {
  EXPECT_EQ(PiecesOf({.kind = kAllToAllCall, .send = kX, .receive = kY, .count = 16}),
            (std::vector<Piece>{{kX, kX + 256, kRead}, {kY, kY + 256, kWrite}}));
}

TEST_F(NcclImport, BroadcastInPlaceOnlyReadsOnItsRoot) {
  EXPECT_EQ(
      PiecesOf({.kind = kBroadcastCall, .send = kX, .receive = kX, .count = 8, .peer = kRank}),
      (std::vector<Piece>{{kX, kX + 32, kRead}}));
}

TEST_F(NcclImport, BroadcastOnlyWritesElsewhere) {
  Ask({.kind = kBroadcastCall, .send = kX, .receive = kY, .count = 8, .peer = 0});
  Queue();
  feed.End();
  const Seen seen = feed.The(OpKind::kCollective);
  EXPECT_EQ(Pieces(seen), (std::vector<Piece>{{kY, kY + 32, kWrite}}));
  EXPECT_EQ(seen.op.value, 1u);  // root + 1
}

TEST_F(NcclImport, ReduceWritesOnItsRootAlone) {
  EXPECT_EQ(PiecesOf({.kind = kReduceCall, .send = kX, .receive = kY, .count = 8, .peer = 1}),
            (std::vector<Piece>{{kX, kX + 32, kRead}}));
}

TEST_F(NcclImport, GatherAndScatterOnTheirRoot) {
  Ask({.kind = kGatherCall, .send = kX, .receive = kY, .count = 4, .peer = kRank}, 1);
  Queue(1);
  Ask({.kind = kScatterCall, .send = kX, .receive = kX + kRank * 16, .count = 4, .peer = kRank}, 2);
  Queue(2);
  feed.End();
  const std::vector<Seen> seen = feed.Of(OpKind::kCollective);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(Pieces(seen[0]), (std::vector<Piece>{{kX, kX + 16, kRead}, {kY, kY + 64, kWrite}}));
  EXPECT_EQ(Pieces(seen[1]), (std::vector<Piece>{{kX, kX + 64, kRead}}));  // in place
}

// Rule 23: one operation a communicator and stream, queued at the group's end.
TEST_F(NcclImport, GroupIsOneOperationAtItsEnd) {
  Ask({.kind = kSendCall, .send = kX, .count = 4, .peer = 1});
  Ask({.kind = kRecvCall, .receive = kY, .count = 4, .peer = 1});
  feed.Call(0, trace::EventRecord{.event = kEventE, .stream = kStreamA, .context = kContext});
  Queue(1, 0, 1);
  feed.End();
  const Seen seen = feed.The(OpKind::kCollective);
  EXPECT_EQ(Pieces(seen), (std::vector<Piece>{{kX, kX + 16, kRead}, {kY, kY + 16, kWrite}}));
  EXPECT_EQ(feed.NameOf(seen.op), "ncclSend+ncclRecv");
  EXPECT_EQ(seen.op.aux, static_cast<uint32_t>(CollectiveKind::kAllToAll));
  EXPECT_GT(seen.op.id, feed.The(OpKind::kEventRecord).op.id);
}

TEST_F(NcclImport, CommunicatorsOfAGroupAreApart) {
  feed.Note(0, NcclComm{.comm = kOther, .how = 1, .rank = 0, .ranks = 2});
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4});
  Ask({.comm = kOther,
       .kind = kAllReduceCall,
       .send = kY,
       .receive = kY,
       .count = 4,
       .stream = kStreamB});
  Queue();
  feed.End();
  const std::vector<Seen> seen = feed.Of(OpKind::kCollective);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NE(seen[0].op.object, seen[1].op.object);
  EXPECT_EQ(seen[0].op.stream, 1u);
  EXPECT_EQ(seen[1].op.stream, 2u);
  EXPECT_TRUE(feed.Of(OpKind::kEventRecord).empty());
}

// nccl.h: several streams in a group wait for each other there.
TEST_F(NcclImport, StreamsOfOneGroupAreJoined) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4});
  Ask({.kind = kAllReduceCall, .send = kY, .receive = kY, .count = 4, .stream = kStreamB});
  Queue();
  feed.End();
  std::vector<std::pair<OpKind, StreamId>> order;
  for (const Seen& seen : feed.seen) {
    const OpKind kind = seen.op.kind;
    if (kind == OpKind::kEventRecord || kind == OpKind::kStreamWaitEvent ||
        kind == OpKind::kCollective) {
      order.push_back({kind, seen.op.stream});
    }
  }
  EXPECT_EQ(order, (std::vector<std::pair<OpKind, StreamId>>{{OpKind::kEventRecord, 2},
                                                             {OpKind::kStreamWaitEvent, 1},
                                                             {OpKind::kCollective, 1},
                                                             {OpKind::kEventRecord, 1},
                                                             {OpKind::kStreamWaitEvent, 2}}));
}

TEST_F(NcclImport, HandleThatComesBackIsAnotherCommunicator) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4}, 1);
  Queue(1);
  feed.Note(0, NcclCommEnd{.comm = kComm, .how = 1});
  feed.Note(0, NcclComm{.comm = kComm, .how = 1, .rank = 0, .ranks = 2});
  Ask({.kind = kAllGatherCall, .send = kX, .receive = kY, .count = 4}, 2);
  Queue(2);
  feed.End();
  const std::vector<Seen> seen = feed.Of(OpKind::kCollective);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NE(seen[0].op.object, seen[1].op.object);
  EXPECT_EQ(Pieces(seen[1])[1], (Piece{kY, kY + 32, kWrite}));
}

TEST_F(NcclImport, FailedAndSimulatedGroupsQueueNothing) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4}, 1);
  Queue(1, 4);
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4}, 2);
  Queue(2, 0, 2);
  feed.End();
  EXPECT_TRUE(feed.Of(OpKind::kCollective).empty());
  EXPECT_TRUE(feed.HasNote(1, "calls failed"));
}

TEST_F(NcclImport, NonblockingIsSaid) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4});
  Queue(1, 7);
  feed.End();
  EXPECT_EQ(feed.Of(OpKind::kCollective).size(), 1u);
  EXPECT_TRUE(feed.HasNote(1, "NCCL calls returned before"));
}

TEST_F(NcclImport, CallThatNeverReturnsIsSaid) {
  Ask({.kind = kAllReduceCall, .send = kX, .receive = kX, .count = 4});
  feed.End();
  EXPECT_TRUE(feed.Of(OpKind::kCollective).empty());
  EXPECT_TRUE(feed.HasNote(1, "NCCL calls had not returned"));
}

class NcclLaunches : public NcclImport {
 protected:
  void Launch(const char* name, uint64_t kind) {
    feed.Text(1, name).Note(0, Function{.function = kKernel, .text_id = 1});
    feed.Call(0, trace::Launch{.function = kKernel,
                               .stream = kStreamA,
                               .context = kContext,
                               .kind = kind,
                               .words = {0, kX}});
    feed.End();
  }
};

TEST_F(NcclLaunches, ItsOwnAreNoneOfTheProgram) {
  Launch("_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage", 4);
  EXPECT_TRUE(feed.Of(OpKind::kKernel).empty());
  EXPECT_EQ(feed.importer.coverage().launches, 0u);
  EXPECT_TRUE(feed.HasNote(1, "launches made by NCCL"));
  EXPECT_TRUE(feed.importer.coverage().complete);
}

TEST_F(NcclLaunches, WithoutItsCallTheCollectiveWasNotSeen) {
  Launch("_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage", 0);
  EXPECT_EQ(feed.Of(OpKind::kKernel).size(), 1u);
  EXPECT_TRUE(feed.HasNote(1, "NCCL kernels launched outside"));
  EXPECT_FALSE(feed.importer.coverage().complete);
}

TEST_F(NcclLaunches, OthersAreTheProgram) {
  Launch("reduce", 0);
  EXPECT_EQ(feed.Of(OpKind::kKernel).size(), 1u);
  EXPECT_FALSE(feed.HasNote("NCCL kernels"));
}

}  // namespace
}  // namespace ss
