#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>

#include "src/trace/reader.h"
#include "tests/trace/watch.h"

namespace ss::trace {
namespace {

TEST(Collector, AProcessWithManyThreads) {
  Watch watch;
  constexpr uint64_t kThreads = 6, kRecords = 20000;
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        RingWriter* ring = client->NewRing();
        for (uint64_t i = 0; i < kRecords; ++i) PutTag(ring, i);
        ring->Destroy();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  ASSERT_EQ(watch.processes().size(), 1u);
  const Seen& seen = *watch.processes()[0];
  EXPECT_EQ(seen.info.pid, static_cast<uint32_t>(pid));
  ASSERT_EQ(seen.by_thread.size(), kThreads);
  for (const auto& [thread, records] : seen.by_thread) {
    ASSERT_EQ(records.size(), kRecords);
    for (uint64_t i = 0; i < kRecords; ++i) ASSERT_EQ(TagOf(records[i]), i);
  }
  // The watermark is exact: nothing came too late, and every number is where it belongs.
  EXPECT_EQ(seen.late, 0u);
  EXPECT_EQ(seen.live_order.size(), kThreads * kRecords);
  EXPECT_TRUE(std::is_sorted(seen.live_order.begin(), seen.live_order.end()));
  EXPECT_FALSE(seen.ending.still_alive);
  EXPECT_EQ(watch.collector->stats().rejected, 0u) << watch.collector->stats().first_rejection;
}

TEST(Collector, AForkedChildIsAProcessOfItsOwn) {
  Watch watch;
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch);
    RingWriter* ring = client->NewRing();
    for (uint64_t i = 0; i < 100; ++i) PutTag(ring, i);
    pid_t inner = Child([&] {
      if (client->alive() || ring->alive() || PutTag(ring, 555)) _exit(1);
      RingClient* own = Connect(watch);
      RingWriter* own_ring = own->NewRing();
      for (uint64_t i = 1000; i < 1050; ++i) PutTag(own_ring, i);
    });
    if (Reap(inner) != 0) _exit(2);
    for (uint64_t i = 100; i < 200; ++i) PutTag(ring, i);
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  ASSERT_EQ(watch.processes().size(), 2u);
  const Seen& parent = *watch.processes()[0];
  const Seen& child = *watch.processes()[1];
  ASSERT_EQ(parent.Count(), 200u);
  ASSERT_EQ(child.Count(), 50u);
  for (uint64_t i = 0; i < 200; ++i) EXPECT_EQ(TagOf(parent.by_thread.at(1)[i]), i);
  EXPECT_EQ(TagOf(child.by_thread.at(1)[0]), 1000u);
  EXPECT_NE(parent.info.pid, child.info.pid);
}

constexpr char kImageSocket[] = "SS_TEST_IMAGE_SOCKET";

// What the image after exec does; alone it has nothing to test.
TEST(Image, WritesWhenTold) {
  const char* socket = getenv(kImageSocket);
  if (!socket) return;
  RingClient* client = RingClient::Connect(socket, {});
  ASSERT_NE(client, nullptr);
  RingWriter* ring = client->NewRing();
  for (uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(PutTag(ring, 100 + i));
}

TEST(Collector, ExecIsAnotherProcessOfTheSamePid) {
  Watch watch;
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch);
    RingWriter* ring = client->NewRing();
    for (uint64_t i = 0; i < 5; ++i) PutTag(ring, i);
    setenv(kImageSocket, watch.collector->socket_name().c_str(), 1);
    execl("/proc/self/exe", "image", "--gtest_filter=Image.*", "--gtest_brief=1", nullptr);
    _exit(9);
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  ASSERT_EQ(watch.processes().size(), 2u);
  for (uint32_t image = 0; image < 2; ++image) {
    const Seen& seen = *watch.processes()[image];
    EXPECT_EQ(seen.info.pid, static_cast<uint32_t>(pid));
    EXPECT_EQ(seen.info.exec_number, image);
    EXPECT_EQ(seen.Count(), image == 0 ? 5u : 7u);
    EXPECT_TRUE(seen.ended);
  }
  EXPECT_LT(watch.processes()[0]->ended_at, watch.processes()[1]->began_at);
}

TEST(Collector, AProgramThatClosesAllDescriptorsIsStillHeard) {
  Watch watch;
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch);
    RingWriter* first = client->NewRing();
    PutTag(first, 1);
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    int taken = open("/dev/null", O_RDONLY);  // the numbers are reused
    for (int fd = 3; fd < 1024; ++fd) {
      if (fd != taken) dup2(taken, fd);
    }
    PutTag(first, 2);
    std::thread([&] { PutTag(client->NewRing(), 3); }).join();
    PutTag(first, 4);
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  ASSERT_EQ(watch.processes().size(), 1u);
  EXPECT_EQ(watch.processes()[0]->by_thread.at(1).size(), 3u);
  EXPECT_EQ(watch.processes()[0]->by_thread.at(2).size(), 1u);
}

TEST(Collector, TheProgramOutlivesTheCollector) {
  auto* progress = Shared<std::atomic<uint64_t>>();
  pid_t pid;
  {
    Watch watch;
    pid = Child([&] {
      RingClient* client = Connect(watch, {.ring_bytes = 128 << 10});
      RingWriter* ring = client->NewRing();
      for (uint64_t i = 0; i < 300000; ++i) {
        PutTag(ring, i);
        progress->store(i + 1);
      }
    });
    while (progress->load() < 1000) usleep(100);
    watch.collector->Stop();
    ASSERT_EQ(watch.processes().size(), 1u);
    EXPECT_TRUE(watch.processes()[0]->ending.still_alive);
    EXPECT_GE(watch.processes()[0]->Count(), 1000u);
  }
  EXPECT_EQ(Reap(pid), 0);
  EXPECT_EQ(progress->load(), 300000u);
}

TEST(Collector, ADeadCollectorDoesNotHoldTheProgram) {
  // The collector itself is killed here, without a goodbye.
  auto* name = Shared<std::array<char, 108>>();
  auto* ready = Shared<std::atomic<int>>();
  pid_t collector = Child([&] {
    Watch watch;
    strcpy(name->data(), watch.collector->socket_name().c_str());
    ready->store(1);
    pause();
  });
  while (!ready->load()) usleep(100);
  RingClient* client = RingClient::Connect(name->data(), {.ring_bytes = 128 << 10});
  ASSERT_NE(client, nullptr);
  client->control()->dead_sleeps = 30;
  RingWriter* ring = client->NewRing();
  ASSERT_NE(ring, nullptr);
  kill(collector, SIGKILL);
  Reap(collector);
  auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < 100000; ++i) PutTag(ring, i);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_GT(ring->dropped(), 80000u);  // the ring holds about 15000
  EXPECT_EQ(client->NewRing(), nullptr);
  ring->Destroy();
  client->Close();
  std::filesystem::remove(name->data());
  std::filesystem::remove(std::filesystem::path(name->data()).parent_path());
}

TEST(Collector, DropsAtTheEndAreReported) {
  Watch watch;
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch, {.ring_bytes = 128 << 10, .on_full = OnFull::kDrop});
    RingWriter* ring = client->NewRing();
    std::string huge(kMaxRecord + 1, 'x');
    PutTag(ring, 1);
    for (int i = 0; i < 7; ++i) ring->Append(AsBytes(huge).data(), huge.size());
    client->CountLost(5);
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  const Seen& seen = *watch.processes().at(0);
  EXPECT_EQ(seen.ending.dropped_at_end, 12u);
  EXPECT_EQ(std::get<Dropped>(seen.by_thread.at(1).back().body).count, 7u);
  EXPECT_EQ(std::get<Dropped>(seen.by_thread.at(0).back().body).count, 5u);
}

// A thread inside a long call holds the order back, but not for ever.
TEST(Collector, PatienceWithALongCall) {
  Watch watch(std::chrono::milliseconds(100));
  pid_t pid = Child([&] {
    RingClient* client = Connect(watch);
    RingWriter* sleeper = client->NewRing();
    RingWriter* other = client->NewRing();
    uint64_t before = sleeper->Begin();
    for (uint64_t i = 0; i < 50; ++i) PutTag(other, i);
    usleep(600000);
    uint8_t buffer[128];
    size_t bytes =
        Encode(buffer, sizeof buffer, before, sleeper->Next(), view::NoteRelease{.tag = 99});
    sleeper->Append(buffer, bytes);
    sleeper->End();
  });
  EXPECT_EQ(Reap(pid), 0);
  watch.collector->Stop();
  const Seen& seen = *watch.processes().at(0);
  ASSERT_EQ(seen.live_order.size(), 51u);
  EXPECT_EQ(seen.live_order.back(), 1u);
  EXPECT_EQ(seen.late, 1u);
}

TEST(Collector, StrangersAreRejectedAndCounted) {
  Watch watch;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, watch.collector->socket_name().c_str());
  for (const std::string& text : {std::string("hello"), std::string(40, 'x')}) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    char byte;
    EXPECT_EQ(recv(fd, &byte, 1, 0), 0);  // hung up on
    close(fd);
  }
  watch.collector->Stop();
  EXPECT_EQ(watch.collector->stats().rejected, 2u);
  EXPECT_TRUE(watch.processes().empty());
}

// The sequence of the whole: rings, collector, files that can be read.
TEST(Collector, TracesOfAllRanks) {
  auto folder = std::filesystem::temp_directory_path() / ("ss_ranks_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  CollectorOptions options;
  options.make_sinks = [&](const ProcessInfo& info) {
    Sinks sinks;
    auto writer = TraceWriter::Create(TracePath(folder.string(), true, false, info));
    EXPECT_TRUE(writer);
    sinks.push_back(std::make_unique<TraceSink>(std::move(*writer)));
    return sinks;
  };
  auto collector = Collector::Start(options);
  ASSERT_TRUE(collector);
  for (int64_t rank : {0, 1, 1}) {
    EXPECT_EQ(Reap(Child([&] {
                RingClient* client =
                    RingClient::Connect((*collector)->socket_name().c_str(), {.rank = rank});
                RingWriter* ring = client->NewRing();
                for (uint64_t i = 0; i < 5000; ++i) PutTag(ring, i);
              })),
              0);
  }
  (*collector)->Stop();
  EXPECT_FALSE(std::filesystem::exists((*collector)->socket_name()));
  for (const char* name : {"0.0.sst", "1.0.sst", "1.1.sst"}) {
    auto reader = TraceReader::Open(folder / name);
    ASSERT_TRUE(reader) << reader.error().Text();
    uint64_t count = 0;
    for (auto next = reader->Next(); next && *next; next = reader->Next()) {
      ASSERT_EQ(TagOf(**next), count++);
    }
    EXPECT_EQ(count, 5000u);
    EXPECT_TRUE(reader->stats().Complete());
  }
  std::filesystem::remove_all(folder);
}

TEST(Names, OfTheTraces) {
  ProcessInfo pid{123, -1, 0}, rank{123, 4, 2};
  EXPECT_EQ(TracePath("out", true, true, pid), "out/123.0.sst");
  EXPECT_EQ(TracePath("out", true, false, rank), "out/4.2.sst");
  EXPECT_EQ(TracePath("a.b/run.sst", false, true, pid), "a.b/run.sst");
  EXPECT_EQ(TracePath("a.b/run.sst", false, false, rank), "a.b/run.4.2.sst");
  EXPECT_EQ(TracePath("a.b/run", false, false, pid), "a.b/run.123.0");
}

}  // namespace
}  // namespace ss::trace
