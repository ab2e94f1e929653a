// Records of every type with arbitrary values, from several threads, overlapping and out of order:
// nothing crashes, and what comes out keeps its promises.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <unordered_map>

#include "tests/import/feed.h"

namespace ss {
namespace {

enum Type : uint64_t {
  kTypeUnknown,
#define RECORD(id, Name, doc) kType##Name,
#define FIELD(Type, name, doc)
#define END_RECORD()
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
  kTypes
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  trace::Record Next() {
    trace::Record record;
    record.thread = static_cast<uint32_t>(Pick(4));
    now_ += 1 + Pick(3);
    record.seq_before = Pick(50) == 0 ? now_ - Pick(40) : now_;  // some come too late
    record.seq_after = record.seq_before + (Pick(4) == 0 ? Pick(200) : Pick(3));
    switch (Pick(kTypes)) {
      case kTypeUnknown:
        record.body = trace::Unknown{};
        break;
#define RECORD(id, Name, doc) \
  case kType##Name: {         \
    trace::Name body;
#define FIELD(Type, name, doc) Fill(&body.name);
#define END_RECORD()  \
  record.body = body; \
  break;              \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
    }
    return record;
  }

 private:
  uint64_t Pick(uint64_t n) { return random_() % n; }

  // Small numbers are handles, texts, modes and results at once; a few addresses that overlap; a
  // few extremes.
  void Fill(uint64_t* value) {
    static constexpr uint64_t kExtremes[] = {~uint64_t{0}, uint64_t{1} << 47, uint64_t{1} << 63};
    const uint64_t kind = Pick(20);
    *value = kind == 0 ? kExtremes[Pick(3)] : kind < 8 ? 0x10000 + 16 * Pick(64) : Pick(6);
  }
  void Fill(int64_t* value) { *value = Pick(8) == 0 ? 600 + static_cast<int64_t>(Pick(2)) : 0; }
  void Fill(std::string* value) { *value = std::string(Pick(3), 'a'); }
  void Fill(std::vector<uint64_t>* value) {
    value->resize(Pick(7));
    for (uint64_t& word : *value) Fill(&word);
  }

  std::mt19937_64 random_;
  uint64_t now_ = 100;
};

// Follows the operations and checks what op.h and importer.h promise about them.
class Promises {
 public:
  void Check(const Seen& seen) {
    const Op& op = seen.op;
    ASSERT_GT(op.id, last_id_);
    last_id_ = op.id;
    ASSERT_EQ(op.access_count, seen.accesses.size());
    for (const Access& access : seen.accesses) ASSERT_LT(access.begin, access.end);
    if (op.kind == OpKind::kHostBegin) hosts_.insert(op.host);
    ASSERT_TRUE(hosts_.contains(op.host));
    CheckStream(op);
    CheckBuffer(seen);
    if (op.flags & kSyncBegin) begun_[op.id] = op.host;
    if (op.kind == OpKind::kSyncEnd) {
      ASSERT_TRUE(begun_.contains(op.value));
      ASSERT_EQ(begun_[op.value], op.host);
      begun_.erase(op.value);
      ++ended_;
    }
  }
  void CheckEnd() {
    EXPECT_TRUE(begun_.empty());
    EXPECT_GT(ended_, 100u);
    EXPECT_GT(freed_, 1000u);
  }

 private:
  void CheckStream(const Op& op) {
    if (op.kind == OpKind::kStreamCreate) streams_.insert(op.stream);
    // These two speak of a stream that may be gone when they come.
    if (op.kind == OpKind::kHostAccess || op.kind == OpKind::kSyncEnd || op.stream == 0) return;
    ASSERT_TRUE(streams_.contains(op.stream)) << op.stream;
    if (op.kind == OpKind::kStreamDestroy) streams_.erase(op.stream);
  }
  void CheckBuffer(const Seen& seen) {
    const Op& op = seen.op;
    if (op.kind == OpKind::kCaptureBegin) in_graph_ = true;
    if (op.kind == OpKind::kCaptureEnd) in_graph_ = false;
    if (op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync) {
      ASSERT_EQ(seen.accesses.size(), 1u);
      // A graph's buffer is told late, and again when the graph has changed.
      if (in_graph_) {
        of_graphs_.insert(op.object);
      } else {
        ASSERT_GT(op.object, last_buffer_);
        live_.insert(last_buffer_ = op.object);
      }
    }
    const bool frees = op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync;
    if (!frees && op.kind != OpKind::kRecordStream && op.kind != OpKind::kBufferName) return;
    if (of_graphs_.contains(op.object)) return;
    ASSERT_TRUE(live_.contains(op.object));
    if (frees) live_.erase(op.object);
    freed_ += frees;
  }

  OpId last_id_ = 0;
  BufferId last_buffer_ = 0;
  uint64_t ended_ = 0, freed_ = 0;
  std::set<HostId> hosts_;
  std::set<StreamId> streams_;
  std::set<BufferId> live_, of_graphs_;
  bool in_graph_ = false;
  std::unordered_map<OpId, HostId> begun_;
};

TEST(AnyRecords, KeepThePromises) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Generator generate(seed);
    Feeder feed({.rank = 1, .max_held = 512});
    Promises promises;
    for (int i = 0; i < 80'000; ++i) {
      feed.importer.Feed(generate.Next(), feed);
      for (const Seen& seen : feed.seen) promises.Check(seen);
      if (HasFatalFailure()) FAIL() << "seed " << seed << " record " << i;
      feed.seen.clear();
    }
    feed.End();
    for (const Seen& seen : feed.seen) promises.Check(seen);
    promises.CheckEnd();
    EXPECT_FALSE(feed.importer.coverage().complete);
  }
}

}  // namespace
}  // namespace ss
