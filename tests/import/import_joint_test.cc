// Several processes' operations as one program.
#include <gtest/gtest.h>

#include "feed.h"
#include "src/import/joint.h"

namespace ss {
namespace {

constexpr uint64_t kMemory = 1, kEvent = 2, kMapping = 3;
constexpr uint64_t kBlock = 0x10000, kMapped = 0x90000, kSize = 0x1000;

struct Process : ImportSink {
  Process() : importer(names) {
    Call(0, trace::ContextCreate{kContext, 0});
    Call(0, trace::StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1});
  }
  // With the time of its begin and of its return; 0 = not told.
  template <typename Body>
  void Call(uint64_t ns, Body body, uint64_t return_ns = 0) {
    const uint64_t before = ++seq, after = ++seq;
    if (ns != 0) importer.Feed({1, before, before, trace::Time{ns}}, *this);
    importer.Feed({1, before, after, std::move(body)}, *this);
    if (ns != 0) importer.Feed({1, after, after, trace::Time{std::max(ns, return_ns)}}, *this);
  }
  void OnRecord(uint64_t, uint64_t ns) override {
    if (ns > (times.empty() ? 0 : times.back().ns)) times.push_back({ops.size(), ns});
  }
  void OnOp(const Op& op, std::span<const Access> taken) override {
    ops.push_back(op);
    ops.back().access_begin = static_cast<uint32_t>(accesses.size());
    accesses.insert(accesses.end(), taken.begin(), taken.end());
  }
  ProcessTape Tape(uint32_t rank) {
    importer.Finish(*this);
    return {rank,   &strings,           &names.shapes,     &ops, &accesses,
            &times, &importer.shared(), &importer.flags(), 0};
  }

  void Give(uint64_t ns) {
    Call(0, trace::Alloc{.address = kBlock, .bytes = kSize, .kind = 1, .context = kContext});
    Call(ns, trace::Shared{.kind = kMemory, .object = kBlock, .handle = "memory"});
  }
  void Open(uint64_t ns) {
    Call(ns, trace::Alloc{.address = kMapped, .bytes = kSize, .kind = 6, .context = kContext});
    Call(ns, trace::Shared{.kind = kMemory, .opened = 1, .object = kMapped, .handle = "memory"});
  }
  void Map(uint64_t ns, uint64_t address, uint64_t handle) {
    Call(ns,
         trace::Alloc{
             .address = address, .bytes = kSize, .kind = 5, .context = kContext, .handle = handle});
  }
  void Unmap(uint64_t ns, uint64_t address) {
    Call(ns, trace::Free{.address = address, .kind = 5, .bytes = kSize});
  }
  void ShareHandle(uint64_t ns, bool opened, uint64_t handle, const std::string& label) {
    Call(ns, trace::Shared{.kind = kMapping, .opened = opened, .object = handle, .handle = label});
  }
  void Set(uint64_t ns, uint64_t address, uint64_t bytes = 8) {
    Call(ns, trace::Memset{
                 .destination = address, .bytes = bytes, .stream = kStreamA, .context = kContext});
  }

  Program names;
  StringTable& strings = names.strings;
  Importer importer;
  std::vector<Op> ops;
  std::vector<Access> accesses;
  std::vector<ProcessTape::Time> times;
  uint64_t seq = 0;
};

Program Joined(Process& first, Process& second) {
  const std::vector<ProcessTape> tapes{first.Tape(0), second.Tape(1)};
  const auto pairs = MatchShared({tapes[0].shared, tapes[1].shared});
  return JoinPrograms(tapes, pairs);
}

std::vector<Op> Of(const Program& program, OpKind kind) {
  std::vector<Op> found;
  for (const Op& op : program.ops) {
    if (op.kind == kind) found.push_back(op);
  }
  return found;
}

TEST(Joint, AValueInAnOpenedBlockIsItsOwners) {
  constexpr uint64_t kWait = 1, kWrite = 2;
  Process owner, user;
  auto call = [](Process& process, uint64_t ns, uint64_t kind, uint64_t address) {
    process.Call(ns,
                 trace::StreamMemOp{
                     .stream = kStreamA, .context = kContext, .operations = {kind, address, 1, 0}});
  };
  owner.Give(10);
  user.Open(20);
  call(owner, 30, kWrite, kBlock + 8);
  call(user, 40, kWait, kMapped + 16);
  call(user, 50, kWait, kMapped + 8);
  user.Call(60, trace::Free{.address = kMapped, .kind = 6});
  call(user, 70, kWait, kMapped + 8);
  const Program program = Joined(owner, user);
  const std::vector<Op> signals = Of(program, OpKind::kSignal),
                        awaits = Of(program, OpKind::kAwait);
  ASSERT_EQ(signals.size(), 1u);
  ASSERT_EQ(awaits.size(), 3u);
  auto same = [&](const Op& await) {
    return await.object == signals[0].object && await.aux == signals[0].aux;
  };
  EXPECT_FALSE(same(awaits[0]));
  EXPECT_TRUE(same(awaits[1]));
  EXPECT_FALSE(same(awaits[2]));
}

TEST(Joint, AnOpenedBlockIsThePartOfItsOwnersThatItIs) {
  Process owner, user;
  owner.Give(10);
  user.Open(20);
  user.Set(30, kMapped + 0x100);
  owner.Set(40, kBlock + 0x200);
  user.Call(50, trace::Free{.address = kMapped, .kind = 6});
  user.Set(60, kMapped + 0x100);
  const Program program = Joined(user, owner);
  const std::vector<Op> sets = Of(program, OpKind::kMemset);
  ASSERT_EQ(sets.size(), 3u);
  const uint64_t owners = (uint64_t{1} << 48) + kBlock;
  EXPECT_EQ(program.accesses[sets[0].access_begin].begin, owners + 0x100);
  EXPECT_EQ(program.accesses[sets[0].access_begin].end, owners + 0x108);
  EXPECT_EQ(program.accesses[sets[1].access_begin].begin, owners + 0x200);
  EXPECT_EQ(program.accesses[sets[2].access_begin].begin, kMapped + 0x100);  // closed
  ASSERT_EQ(sets[0].access_count, 2u);  // and a use of what was opened
  const Access& use = program.accesses[sets[0].access_begin + 1];
  EXPECT_EQ(use.begin, kMapped + 0x100);
  EXPECT_EQ(use.end, kMapped + 0x108);
  EXPECT_EQ(use.mode, kRead);
  EXPECT_EQ(sets[1].access_count, 1u);
  EXPECT_TRUE(sets[0].flags & kShared);
  EXPECT_TRUE(sets[1].flags & kShared);
  EXPECT_FALSE(sets[2].flags & kShared);
  EXPECT_NE(sets[0].stream, sets[1].stream);
  EXPECT_NE(sets[0].host, sets[1].host);
}

TEST(Joint, OperationsComeInTheOrderOfTime) {
  Process owner, user;
  owner.Give(10);
  user.Open(20);
  user.Set(35, kMapped);
  owner.Set(30, kBlock);
  owner.Set(40, kBlock + 8);
  const std::vector<Op> sets = Of(Joined(user, owner), OpKind::kMemset);
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0].stream, sets[2].stream);
  EXPECT_NE(sets[0].stream, sets[1].stream);
}

// Nothing of a process uses memory after its end, which comes when it comes.
TEST(Joint, AnEndIsASynchronisationOfTheProcesssDevices) {
  Process owner, user;
  owner.Give(10);
  user.Open(20);
  user.Set(30, kMapped);
  user.Call(50, trace::ProcessEnd{});
  owner.Set(40, kBlock);
  owner.Set(60, kBlock);
  std::vector<ProcessTape> tapes{owner.Tape(0), user.Tape(1)};
  const auto pairs = MatchShared({tapes[0].shared, tapes[1].shared});
  EXPECT_TRUE(Of(JoinPrograms(tapes, pairs), OpKind::kDeviceSync).empty());
  tapes[1].ended_ns = user.importer.process().ended_ns;
  const Program program = JoinPrograms(tapes, pairs);
  ASSERT_EQ(Of(program, OpKind::kDeviceSync).size(), 1u);
  EXPECT_EQ(Of(program, OpKind::kDeviceSync)[0].value, 1u);
  const auto end = std::ranges::find(program.ops, OpKind::kDeviceSync, &Op::kind);
  EXPECT_EQ(std::count_if(end, program.ops.end(),
                          [](const Op& op) { return op.kind == OpKind::kMemset; }),
            1);
}

TEST(Joint, AnOpenedEventIsItsOwners) {
  Process owner, user;
  owner.Call(0, trace::EventCreate{.event = kEventE, .context = kContext});
  owner.Call(10, trace::Shared{.kind = kEvent, .object = kEventE, .handle = "event"});
  user.Call(20, trace::EventCreate{.event = kEventE, .context = kContext, .foreign = 1});
  user.Call(20, trace::Shared{.kind = kEvent, .opened = 1, .object = kEventE, .handle = "event"});
  owner.Call(30, trace::EventRecord{.event = kEventE, .stream = kStreamA, .context = kContext});
  user.Call(40, trace::StreamWaitEvent{.stream = kStreamA, .context = kContext, .event = kEventE});
  user.Call(50, trace::EventDestroy{kEventE});
  const Program program = Joined(owner, user);
  const Op record = Of(program, OpKind::kEventRecord).at(0);
  const Op wait = Of(program, OpKind::kStreamWaitEvent).at(0);
  EXPECT_EQ(record.object, wait.object);
  EXPECT_FALSE(wait.flags & kForeign);
  EXPECT_TRUE(wait.flags & kShared);
  EXPECT_TRUE(Of(program, OpKind::kEventDestroy).empty());  // the owner's is still there
}

// What a thread waits for it knows when the call returns, not when it is made.
TEST(Joint, ASynchronisationEndsWhenItReturns) {
  Process owner, user;
  owner.Give(10);
  user.Open(20);
  owner.Call(30, trace::StreamSync{.stream = kStreamA, .context = kContext}, 50);
  user.Set(40, kMapped);
  user.Set(60, kMapped);
  const Program program = Joined(owner, user);
  std::vector<OpKind> order;
  for (const Op& op : program.ops) {
    const bool asked = op.kind == OpKind::kStreamSync || op.kind == OpKind::kSyncEnd;
    if (asked || op.kind == OpKind::kMemset) order.push_back(op.kind);
  }
  EXPECT_EQ(order,
            (std::vector{OpKind::kStreamSync, OpKind::kMemset, OpKind::kSyncEnd, OpKind::kMemset}));
  EXPECT_EQ(Of(program, OpKind::kSyncEnd).at(0).value, Of(program, OpKind::kStreamSync).at(0).id);
}

TEST(Joint, TheLastToGiveAHandleBeforeItIsOpenedIsTheOwner) {
  const std::vector<SharedThing> first{{false, false, 1, "h", 10}, {false, false, 2, "h", 50}};
  const std::vector<SharedThing> second{{false, false, 3, "h", 20}};
  const std::vector<SharedThing> third{{false, true, 4, "h", 30}, {true, true, 5, "h", 30}};
  const auto pairs = MatchShared({&first, &second, &third});
  ASSERT_EQ(pairs.size(), 1u);  // an event is another thing than memory
  EXPECT_EQ(pairs[0].given.process, 1u);
  EXPECT_EQ(pairs[0].opened.process, 2u);
  EXPECT_EQ(GroupSharing(pairs, 3), (std::vector<std::vector<size_t>>{{1, 2}}));
  EXPECT_TRUE(GroupSharing({}, 3).empty());
}

TEST(Joint, WhatIsMappedOfASharedHandleIsShared) {
  Process owner, user;
  owner.Map(10, kBlock, 7);
  owner.ShareHandle(20, false, 7, "seven");
  owner.ShareHandle(30, false, 8, "eight");
  owner.Map(40, kBlock + kSize, 8);
  owner.ShareHandle(50, false, 8, "");  // another one's number from here on
  owner.Map(60, kBlock + 2 * kSize, 8);
  user.ShareHandle(35, true, 1, "eight");
  user.Map(36, kMapped, 1);
  user.ShareHandle(37, true, 2, "");  // nobody said which one
  user.Map(38, kMapped + kSize, 2);
  const std::vector<ProcessTape> tapes{owner.Tape(0), user.Tape(1)};
  const std::vector<SharedThing>&given = *tapes[0].shared, &opened = *tapes[1].shared;
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].handle, "seven");
  EXPECT_EQ(given[1].handle, "eight");
  EXPECT_EQ(given[1].ns, 30u);  // however late it was mapped
  EXPECT_NE(given[0].id, given[1].id);
  ASSERT_EQ(opened.size(), 2u);
  const auto pairs = MatchShared({&given, &opened});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].given.thing, 1u);
  EXPECT_EQ(pairs[0].opened.thing, 0u);
}

// What lies in a row here need not there. The first part keeps its place among the accesses.
TEST(Joint, AnAccessMayReachOverSeveralOpenedBlocks) {
  Process owner, user;
  for (uint64_t i = 0; i < 2; ++i) {
    owner.Map(10, kBlock + i * 4 * kSize, 7 + i);
    owner.ShareHandle(10, false, 7 + i, std::to_string(i));
    user.ShareHandle(20, true, 1 + i, std::to_string(i));
    user.Map(20, kMapped + i * kSize, 1 + i);
  }
  user.Set(30, kMapped + kSize - 0x100, 0x300);
  const Program program = Joined(owner, user);
  const std::vector<Op> sets = Of(program, OpKind::kMemset);
  ASSERT_EQ(sets.size(), 1u);
  std::vector<Access> written;
  for (uint32_t i = 0; i < sets[0].access_count; ++i) {
    const Access& access = program.accesses[sets[0].access_begin + i];
    if (access.mode == kWrite) written.push_back(access);
  }
  EXPECT_EQ(program.accesses[sets[0].access_begin].mode, kWrite);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0].begin, kBlock + kSize - 0x100);
  EXPECT_EQ(written[0].end, kBlock + kSize);
  EXPECT_EQ(written[1].begin, kBlock + 4 * kSize);
  EXPECT_EQ(written[1].end, kBlock + 4 * kSize + 0x200);
}

// Mapped memory lives as long as anybody has it: that its owner unmaps it ends the owner's mapping
// alone, and is judged by what the owner did.
TEST(Joint, WhatItsOwnerUnmapsStaysWithTheOthers) {
  Process owner, user;
  owner.Map(10, kBlock, 7);
  owner.ShareHandle(10, false, 7, "seven");
  user.ShareHandle(20, true, 1, "seven");
  user.Map(20, kMapped, 1);
  owner.Set(30, kBlock);
  user.Set(40, kMapped);
  owner.Unmap(50, kBlock);
  user.Set(60, kMapped);
  const Program program = Joined(owner, user);
  const std::vector<Op> sets = Of(program, OpKind::kMemset), frees = Of(program, OpKind::kFree);
  ASSERT_EQ(sets.size(), 3u);
  auto written = [&](const Op& op) { return program.accesses[op.access_begin].begin; };
  EXPECT_EQ(written(sets[0]), written(sets[1]));
  EXPECT_NE(written(sets[1]), written(sets[2]));
  ASSERT_EQ(frees.size(), 2u);
  EXPECT_TRUE(frees[0].flags & kImplicitEnd);
  EXPECT_FALSE(frees[1].flags & kImplicitEnd);
  const Access& mapping = program.accesses[frees[1].access_begin];
  auto uses = [&](const Op& op) {
    for (uint32_t i = 0; i < op.access_count; ++i) {
      const Access& access = program.accesses[op.access_begin + i];
      if (access.begin >= mapping.begin && access.end <= mapping.end) return true;
    }
    return false;
  };
  EXPECT_TRUE(uses(sets[0]));
  EXPECT_FALSE(uses(sets[1]));
  EXPECT_FALSE(uses(sets[2]));
}

TEST(Joint, WhatIsOpenedTwiceIsClosedTwice) {
  Process user;
  user.Open(10);
  user.Open(20);
  user.Call(30, trace::Free{.address = kMapped, .kind = 6});
  user.Set(40, kMapped);
  user.Tape(0);
  EXPECT_EQ(user.importer.shared().size(), 2u);
  EXPECT_EQ(user.importer.shared()[0].id, user.importer.shared()[1].id);
  for (const Op& op : user.ops) EXPECT_NE(op.kind, OpKind::kFree);
  EXPECT_TRUE(user.importer.coverage().complete);
}

}  // namespace
}  // namespace ss
