// SIGKILL at any moment: no completed record is lost, no half one is seen.
#include <signal.h>

#include <array>
#include <thread>

#include "tests/trace/watch.h"

namespace ss::trace {
namespace {

constexpr int kThreads = 2;
constexpr int kKills = 200;

struct Progress {
  std::array<std::atomic<uint64_t>, kThreads> completed;
};

// Produces for ever; record sizes vary so that the kill hits copies of all lengths.
void Produce(RingClient* client, std::atomic<uint64_t>* completed) {
  RingWriter* ring = client->NewRing();
  static const char kPadding[3000] = {};
  uint8_t buffer[4096];
  for (uint64_t i = 0;; ++i) {
    uint64_t before = ring->Begin();
    size_t bytes = Encode(buffer, sizeof buffer, before, ring->Next(),
                          view::Text{.text_id = i, .text = {kPadding, i * 37 % sizeof kPadding}});
    if (!ring->Append(buffer, bytes)) _exit(3);
    ring->End();
    completed->store(i + 1, std::memory_order_release);
  }
}

void CheckThread(const std::vector<Record>& records, uint64_t completed) {
  ASSERT_GE(records.size(), completed);
  ASSERT_LE(records.size(), completed + 1);  // published, and killed before it said so
  for (uint64_t i = 0; i < records.size(); ++i) {
    const auto& text = std::get<Text>(records[i].body);
    ASSERT_EQ(text.text_id, i);
    ASSERT_EQ(text.text.size(), i * 37 % 3000);
  }
}

TEST(Kill, LosesNoCompletedRecord) {
  Random random(11);
  auto* progress = Shared<Progress>();
  uint64_t all = 0;
  int early = 0;
  for (int round = 0; round < kKills; ++round) {
    for (auto& counter : progress->completed) counter = 0;
    Watch watch;
    pid_t pid = Child([&] {
      RingClient* client = Connect(watch, {.ring_bytes = 256 << 10});
      std::thread second([&] { Produce(client, &progress->completed[1]); });
      Produce(client, &progress->completed[0]);
    });
    usleep(static_cast<useconds_t>(random() % 8000));
    kill(pid, SIGKILL);
    ASSERT_EQ(Reap(pid), SIGKILL);  // it did not end by itself, so nothing was dropped
    watch.collector->Stop();

    std::vector<uint64_t> completed = {progress->completed[0], progress->completed[1]};
    uint64_t expected = completed[0] + completed[1];
    all += expected;
    if (watch.processes().empty()) {
      ASSERT_EQ(expected, 0u);
      ++early;
      continue;
    }
    const Seen& seen = *watch.processes()[0];
    ASSERT_TRUE(seen.ended);
    ASSERT_EQ(seen.ending.broken_rings, 0u);
    ASSERT_GE(seen.Count(), expected);
    std::vector<size_t> sizes;
    for (const auto& [thread, records] : seen.by_thread) {
      uint64_t closest = records.size() - completed[0] <= 1 ? completed[0] : completed[1];
      CheckThread(records, closest);
      sizes.push_back(records.size());
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.insert(sizes.begin(), kThreads - sizes.size(), 0);
    std::sort(completed.begin(), completed.end());
    for (int t = 0; t < kThreads; ++t) ASSERT_LE(sizes[t] - completed[t], 1u);
    EXPECT_EQ(seen.late, 0u);
  }
  EXPECT_GT(all, uint64_t{kKills});  // whatever the machine makes of the time, it did record
  EXPECT_LT(early, kKills / 2);
}

}  // namespace
}  // namespace ss::trace
