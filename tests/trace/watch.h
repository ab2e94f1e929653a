// A collector whose sinks note what they are given, and children that produce.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "src/trace/collector.h"
#include "src/trace/ring_client.h"
#include "tests/trace/records.h"

namespace ss::trace {

struct Seen {
  ProcessInfo info;
  std::map<uint32_t, std::vector<Record>> by_thread;
  std::vector<uint64_t> live_order;  // seq_before, as the live merge gave them out
  bool ended = false;
  int began_at = 0, ended_at = 0;  // in one count over all processes
  ProcessEnding ending;
  uint64_t late = 0;

  size_t Count() const {
    size_t count = 0;
    for (const auto& [thread, records] : by_thread) count += records.size();
    return count;
  }
};

class NotingSink : public ProcessSink {
 public:
  NotingSink(std::shared_ptr<Seen> seen, int* events) : seen_(std::move(seen)), events_(events) {}
  void Records(uint32_t thread, ByteSpan records) override {
    for (RawRecord raw; TakeRecord(&records, &raw);) {
      EXPECT_TRUE(Decode(raw, thread, &seen_->by_thread[thread].emplace_back()));
    }
    EXPECT_TRUE(records.empty());
  }
  void End(const ProcessEnding& ending) override {
    EXPECT_FALSE(seen_->ended);
    seen_->ended = true;
    seen_->ended_at = ++*events_;
    seen_->ending = ending;
  }

 private:
  std::shared_ptr<Seen> seen_;
  int* events_;
};

class Watch {
 public:
  explicit Watch(std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    CollectorOptions options;
    options.make_sinks = [this, patience](const ProcessInfo& info) {
      auto seen = std::make_shared<Seen>();
      seen->info = info;
      seen->began_at = ++events_;
      seen_.push_back(seen);
      Sinks sinks;
      sinks.push_back(std::make_unique<NotingSink>(seen, &events_));
      sinks.push_back(std::make_unique<LiveSink>(
          [seen](const Record& record) { seen->live_order.push_back(record.seq_before); },
          [seen](const ProcessEnding&, uint64_t late, uint64_t) { seen->late = late; }, patience));
      return sinks;
    };
    auto started = Collector::Start(options);
    EXPECT_TRUE(started) << started.error().Text();
    collector = std::move(*started);
  }
  // Only after Stop(), or when idle: the drain thread writes them.
  std::vector<std::shared_ptr<Seen>>& processes() { return seen_; }

 private:
  std::vector<std::shared_ptr<Seen>> seen_;
  int events_ = 0;

 public:
  std::unique_ptr<Collector> collector;  // last: its thread uses the others to its end
};

// Memory that parent and child share.
template <typename T>
T* Shared() {
  void* at = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (at) T();
}

template <typename Body>
pid_t Child(Body body) {
  pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  return pid;
}

inline int Reap(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// One tag as a hooked call writes it. The buffer is on the stack: nothing here may allocate, the
// child was forked off a process with threads.
inline bool PutTag(RingWriter* ring, uint64_t tag) {
  uint8_t buffer[128];
  uint64_t before = ring->Begin();
  size_t bytes = Encode(buffer, sizeof buffer, before, ring->Next(), view::NoteRelease{.tag = tag});
  bool kept = ring->Append(buffer, bytes);
  ring->End();
  return kept;
}

inline RingClient* Connect(const Watch& watch, const RingOptions& options = {}) {
  return RingClient::Connect(watch.collector->socket_name().c_str(), options);
}

}  // namespace ss::trace
