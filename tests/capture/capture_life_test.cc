// Processes that fork, exec, exit early, are killed, outlive their collector.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "src/trace/collector.h"
#include "tests/capture/watch.h"

namespace ss::test {
namespace {

using namespace ss::trace;

Watched Life(std::vector<std::string> arguments, const RunOptions& options = {}) {
  arguments.insert(arguments.begin(), Program("capture_life"));
  return Run(arguments, options);
}

TEST(Life, ProcessWithoutCudaOpensNothing) {
  Watched watched = Life({"idle"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_TRUE(watched.ended.empty());
  EXPECT_TRUE(watched.records.empty());
}

TEST(Life, UnderscoreExitLosesNothing) {
  Watched watched = Life({"_exit"});
  EXPECT_EQ(WEXITSTATUS(watched.status), 7) << watched.errors;
  EXPECT_EQ(watched.All<Memset>().size(), 10u);
  EXPECT_EQ(watched.All<ContextSync>().size(), 1u);
  EXPECT_TRUE(watched.All<ProcessEnd>().empty());  // no orderly end, and none is claimed
}

TEST(Life, KillLosesNothing) {
  Watched watched = Life({"kill"});
  EXPECT_TRUE(WIFSIGNALED(watched.status));
  EXPECT_EQ(watched.All<Memset>().size(), 10u);
  EXPECT_EQ(watched.All<ContextSync>().size(), 1u);
}

TEST(Life, ForkAndExecAreTwoProcesses) {
  Watched watched = Life({"fork"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.All<Process>().size(), 2u);
  EXPECT_EQ(watched.ended.size(), 2u);
  EXPECT_EQ(watched.All<Memset>().size(), 3u + 2u + 5u);
  EXPECT_EQ(watched.All<ProcessEnd>().size(), 2u);
}

TEST(Life, ForkedChildThatOnlyExitsSaysNothing) {
  Watched watched = Life({"fork_quiet"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.All<Process>().size(), 1u);
  EXPECT_EQ(watched.All<ProcessEnd>().size(), 1u);
  EXPECT_EQ(watched.All<Memset>().size(), 5u);
  ASSERT_EQ(watched.All<Fork>().size(), 1u);
  EXPECT_NE(watched.All<Fork>()[0].child, 0u);
}

TEST(Life, CudaInAForkedChildAlone) {
  Watched watched = Life({"fork_first"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.All<Process>().size(), 1u);
  EXPECT_EQ(watched.All<Memset>().size(), 5u);
}

TEST(Life, UseOfTheDriverBeforeTheHooksIsAdmitted) {
  Watched late = Life({"late"});
  ASSERT_EQ(late.All<Process>().size(), 1u) << late.errors;
  EXPECT_EQ(late.All<Process>()[0].late, 1u);
  EXPECT_EQ(late.All<Memset>().size(), 1u);
  Watched normal = Life({"sets", "1"});
  ASSERT_EQ(normal.All<Process>().size(), 1u) << normal.errors;
  EXPECT_EQ(normal.All<Process>()[0].late, 0u);
}

TEST(Life, ProcessIntroducesItself) {
  RunOptions options;
  options.environment = {"RANK=3"};
  Watched watched = Life({"sets", "1"}, options);
  ASSERT_EQ(watched.All<Process>().size(), 1u) << watched.errors;
  Process process = watched.All<Process>()[0];
  EXPECT_TRUE(std::holds_alternative<Process>(watched.records.front().body));
  EXPECT_EQ(process.rank, 3);
  EXPECT_EQ(process.parent, static_cast<uint64_t>(getpid()));
  EXPECT_NE(process.command.find(std::string("sets\0001\0", 7)), std::string::npos);
  EXPECT_GT(process.driver_version, 12000u);
}

TEST(Life, KilledProcessHasCountersFromOnTheWay) {
  Watched watched = Life({"kill_late"});
  EXPECT_TRUE(WIFSIGNALED(watched.status));
  EXPECT_GE(watched.Counters()["cuMemsetD8Async"], 60000u);
}

TEST(Life, EachThreadHasItsRing) {
  Watched watched = Life({"threads"});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  std::set<std::string> names;
  for (const Thread& thread : watched.All<Thread>()) names.insert(thread.name);
  for (const char* name : {"worker0", "worker1", "worker2", "worker3"})
    EXPECT_TRUE(names.count(name));
  EXPECT_EQ(watched.All<ThreadEnd>().size(), 4u);
  EXPECT_EQ(watched.All<Memset>().size(), 400u);
  uint64_t before = 0;
  for (const Record& record : watched.records) {
    EXPECT_LE(before, record.seq_before);
    EXPECT_LE(record.seq_before, record.seq_after);
    before = record.seq_before;
  }
}

TEST(Life, WithoutACollectorCallsAreOnlyForwarded) {
  RunOptions options;
  options.with_socket = false;
  Watched watched = Life({"sets", "5"}, options);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_EQ(watched.errors, "");
  EXPECT_TRUE(watched.ended.empty());
}

TEST(Life, UnreachableCollectorIsSaidOnceAndHarmless) {
  RunOptions options;
  options.environment = {"STREAMSAN_SOCKET=/nonexistent/socket"};
  options.with_socket = false;
  Watched watched = Life({"sets", "5"}, options);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  size_t at = watched.errors.find("runs unwatched");
  EXPECT_NE(at, std::string::npos) << watched.errors;
  EXPECT_EQ(watched.errors.find("runs unwatched", at + 1), std::string::npos);
}

TEST(Life, DisabledByOption) {
  RunOptions options;
  options.environment = {"STREAMSAN_OPTIONS=disable=1"};
  Watched watched = Life({"sets", "5"}, options);
  EXPECT_EQ(watched.status, 0) << watched.errors;
  EXPECT_TRUE(watched.ended.empty());
}

TEST(Life, StacksByOption) {
  RunOptions options;
  options.environment = {"STREAMSAN_OPTIONS=stacks=0"};
  Watched watched = Life({"sets", "5"}, options);
  ASSERT_EQ(watched.All<Memset>().size(), 5u);
  EXPECT_EQ(watched.All<Memset>()[0].stack, 0u);
  EXPECT_TRUE(watched.All<Stack>().empty());
}

TEST(Life, StacksTellCallersApart) {
  Watched watched = Life({"stacks"});
  ASSERT_EQ(watched.status, 0) << watched.errors;
  std::map<uint64_t, std::vector<uint64_t>> stacks;
  for (const Stack& stack : watched.All<Stack>()) stacks[stack.stack_id] = stack.addresses;
  auto sets = watched.All<Memset>();
  ASSERT_EQ(sets.size(), 50u);
  auto printed = watched.Printed();
  for (size_t i = 0; i < sets.size(); ++i) {
    const std::vector<uint64_t>& frames = stacks[sets[i].stack];
    ASSERT_GE(frames.size(), 4u) << i;  // Innermost, Left or Right, Stacks, main
    uint64_t caller = printed[i % 2 ? "left" : "right"];
    uint64_t other = printed[i % 2 ? "right" : "left"];
    EXPECT_GT(frames[1], caller) << i;
    EXPECT_TRUE(other < caller || frames[1] < other) << i;  // and not in the function behind it
    EXPECT_LT(frames[1], caller + 64) << i;
  }
  EXPECT_LE(stacks.size(), 10u);  // interned, not one a call
}

TEST(Life, ModulesCoverTheStacks) {
  Watched watched = Life({"stacks"});
  auto modules = watched.All<Module>();
  size_t with_build_id = 0;
  for (const Module& module : modules) with_build_id += !module.build_id.empty();
  EXPECT_GT(with_build_id, 0u);
  for (const Stack& stack : watched.All<Stack>()) {
    for (uint64_t address : stack.addresses) {
      bool known = false;
      for (const Module& module : modules) known |= address >= module.begin && address < module.end;
      EXPECT_TRUE(known) << std::hex << address;
    }
  }
}

TEST(Life, AllocationsOfCublasArePrivate) {
  Watched watched = Life({"private"});
  auto allocs = watched.All<Alloc>();
  ASSERT_EQ(allocs.size(), 2u) << watched.errors;
  EXPECT_EQ(allocs[0].is_private, 0u);
  EXPECT_EQ(allocs[1].is_private, 1u);
}

TEST(Life, Annotations) {
  Watched watched = Life({"annotations"});
  ASSERT_EQ(watched.status, 0) << watched.errors;
  auto printed = watched.Printed();
  uint64_t memory = printed["memory"];
  uint64_t stream = printed["stream"];
  auto buffers = watched.All<NoteBuffer>();
  ASSERT_EQ(buffers.size(), 1u);
  EXPECT_EQ(buffers[0].address, memory);
  EXPECT_EQ(buffers[0].bytes, 64u);
  EXPECT_EQ(watched.Text(buffers[0].text_id), "ring buffer");
  ASSERT_EQ(watched.All<NoteKernelAccess>().size(), 1u);
  EXPECT_EQ(watched.All<NoteKernelAccess>()[0].offset, 8u);
  EXPECT_EQ(watched.All<NoteKernelAccess>()[0].mode, 3u);
  ASSERT_EQ(watched.All<NoteAccess>().size(), 1u);
  EXPECT_EQ(watched.All<NoteAccess>()[0].stream, stream);
  EXPECT_EQ(watched.All<NoteRelease>().size(), 1u);
  EXPECT_EQ(watched.All<NoteAcquire>().size(), 1u);
  ASSERT_EQ(watched.All<NotePoolAlloc>().size(), 3u);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[0].pool, memory + 1);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[0].address, memory + 8);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[0].stream, stream);
  EXPECT_NE(watched.All<NotePoolAlloc>()[0].context, 0u);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[0].host, 0u);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[1].address, memory + 64);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[1].bytes, 32u);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[1].host, 1u);
  // From a thread without a current context: there is only one that it can mean.
  EXPECT_EQ(watched.All<NotePoolAlloc>()[2].stream, 1u);
  EXPECT_EQ(watched.All<NotePoolAlloc>()[2].context, watched.All<NotePoolAlloc>()[0].context);
  ASSERT_EQ(watched.All<NotePoolRecordUse>().size(), 1u);
  EXPECT_EQ(watched.All<NotePoolRecordUse>()[0].stream, 1u);
  EXPECT_EQ(watched.All<NotePoolFree>().size(), 1u);
  EXPECT_EQ(watched.All<NoteFill>().size(), 1u);
  EXPECT_EQ(watched.All<NoteDeviceFlag>().size(), 1u);
  ASSERT_EQ(watched.All<NoteStreamName>().size(), 1u);
  EXPECT_EQ(watched.Text(watched.All<NoteStreamName>()[0].text_id), "comm");
  ASSERT_EQ(watched.All<NoteThreadName>().size(), 1u);
  EXPECT_EQ(watched.Text(watched.All<NoteThreadName>()[0].text_id), "loader");
}

TEST(Life, QueriesOfAnAllocatorAreMarked) {
  Watched watched = Life({"annotations"});
  auto events = watched.All<EventQuery>();
  auto streams = watched.All<StreamQuery>();
  ASSERT_EQ(events.size(), 2u) << watched.errors;
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(events[0].in_allocator, 1u);
  EXPECT_EQ(streams[0].in_allocator, 1u);
  EXPECT_EQ(events[1].in_allocator, 0u);
  EXPECT_EQ(streams[1].in_allocator, 0u);
}

TEST(Life, HostAccessesInsideAHostFunctionCarryItsToken) {
  Watched watched = Life({"annotations"});
  auto functions = watched.All<HostFunction>();
  auto accesses = watched.All<NoteHostAccess>();
  ASSERT_EQ(functions.size(), 1u);
  ASSERT_EQ(accesses.size(), 3u);
  int inside = 0;
  for (const NoteHostAccess& access : accesses) {
    EXPECT_EQ(access.token, access.bytes == 8 ? functions[0].token : 0u);
    inside += access.token != 0;
  }
  EXPECT_EQ(inside, 1);
}

TEST(Life, OutlivesItsCollector) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  std::string socket = "@streamsan-test-" + std::to_string(getpid());
  pid_t drainer = fork();
  if (drainer == 0) {
    CollectorOptions options;
    options.socket = socket;
    options.make_sinks = [](const ProcessInfo&) { return Sinks{}; };
    auto collector = Collector::Start(options);
    if (write(ready[1], collector ? "y" : "n", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  RunOptions options;
  options.environment = {"STREAMSAN_OPTIONS=ring_mb=1"};
  // 100,000 records are several rings full: it has to notice the death, not only to have room.
  Child child = Spawn({Program("capture_life"), "loop", "100000"}, options, socket);
  char started[10];
  ASSERT_EQ(read(child.out, started, sizeof started), 10);
  kill(drainer, SIGKILL);
  waitpid(drainer, nullptr, 0);
  std::string output = ReadAll(child.out);
  std::string errors = ReadAll(child.err);
  int status = -1;
  waitpid(child.pid, &status, 0);
  EXPECT_EQ(status, 0) << errors;
  EXPECT_NE(output.find("done 100000"), std::string::npos) << output << errors;
}

}  // namespace
}  // namespace ss::test
