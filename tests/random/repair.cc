#include "tests/random/repair.h"

#include <map>
#include <set>
#include <utility>

#include "tests/reference/reference.h"

namespace ss::random {
namespace {

using reference::Hazard;

// The edits of one round: lines to put in front of a line (1-based), lines to drop.
struct Edits {
  std::set<std::pair<uint32_t, std::string>> before;
  std::set<uint32_t> dropped;
  std::set<uint32_t> plain;  // copies that are of no batch any more
};

class Mender {
 public:
  Mender(const Program& program, Rng* rng) : program_(program), rng_(rng) {
    for (size_t i = 0; i < program.ops.size(); ++i) Learn(i);
  }

  Edits Mend(const std::vector<Hazard>& hazards) {
    for (const Hazard& hazard : hazards) {
      if (!hazard.absorbed) Mend(hazard);
    }
    return std::move(edits_);
  }

 private:
  struct StreamInfo {
    std::string name;
    StreamType type{};
    uint64_t device = 0;
    size_t destroyed = ~size_t{0};
  };

  void Learn(size_t i) {
    const Op& op = program_.ops[i];
    const std::string& name = program_.strings.Get(op.name);
    if (op.kind == OpKind::kHostBegin) hosts_[op.host] = name;
    if (op.kind == OpKind::kStreamCreate) {
      streams_[op.stream] = {name, static_cast<StreamType>(op.aux), op.value & 0xffff};
    }
    if (op.kind == OpKind::kStreamDestroy) streams_[op.stream].destroyed = i;
    if (op.kind == OpKind::kAlloc) allocations_[op.object] = &op;
  }

  std::string At(HostId host) {
    const std::string& name = hosts_[host];
    return name.empty() || name == "main" ? "" : "@" + name + " ";
  }
  std::string HostName(HostId host) { return hosts_[host].empty() ? "main" : hosts_[host]; }
  void Insert(const Op& at, std::string line) { edits_.before.insert({at.line, std::move(line)}); }

  // The thread of `at` comes to know that what is queued on a's lane is over.
  void HostLearns(const Op& a, const Op& at, size_t at_index) {
    if (a.kind != OpKind::kHostAccess) {
      const StreamInfo& stream = streams_[a.stream];
      const bool own_lane = stream.type == StreamType::kPerThread && a.host != at.host;
      const HostId who = own_lane ? a.host : at.host;
      const bool gone = stream.destroyed < at_index;
      Insert(at, At(who) + (gone ? "sync device " + std::to_string(stream.device)
                                 : "sync " + stream.name));
      if (!own_lane) return;
    }
    if (a.host != at.host) Insert(at, "handoff " + HostName(a.host) + " " + HostName(at.host));
  }

  // `lane` (of the thread of `at`) waits for a's lane, if a wait can say so.
  void StreamLearns(const Op& a, StreamId lane, const Op& at, size_t at_index) {
    const StreamInfo& from = streams_[a.stream];
    const bool wait = a.kind != OpKind::kHostAccess && a.stream != lane &&
                      from.type != StreamType::kPerThread && from.destroyed > at_index &&
                      streams_[lane].destroyed > at_index && !rng_->Percent(15);
    if (!wait) return HostLearns(a, at, at_index);
    Insert(at, At(at.host) + streams_[lane].name + ": wait_stream " + from.name);
  }

  void Mend(const Hazard& hazard) {
    const Op& first = program_.ops[hazard.first];
    const Op& second = program_.ops[hazard.second];
    if (hazard.code == "lifetime") {
      if (hazard.first > hazard.second) return MendLateUse(hazard);
      return MendFree(first, second, hazard.second);
    }
    if (second.kind == OpKind::kCopy && (second.flags & kSameBatch) != 0) {
      edits_.plain.insert(second.line);
      return;
    }
    if (second.kind == OpKind::kCopy && (second.flags & kSourceApart) != 0) {
      if (rng_->Percent(50)) return HostLearns(first, second, hazard.second);
      edits_.plain.insert(second.line);
      return;
    }
    if (second.kind == OpKind::kHostAccess) return HostLearns(first, second, hazard.second);
    StreamLearns(first, second.stream, second, hazard.second);
  }

  void MendLateUse(const Hazard& hazard) {
    const Op& use = program_.ops[hazard.first];
    const Op& other = program_.ops[hazard.second];
    if (other.kind != OpKind::kAllocAsync) {
      edits_.dropped.insert(use.line);
    } else {
      StreamLearns(other, use.stream, use, hazard.first);
    }
  }

  void MendFree(const Op& use, const Op& free, size_t at) {
    if (free.kind == OpKind::kFreeAsync) return StreamLearns(use, free.stream, free, at);
    const Op* allocation = allocations_[free.object];
    const bool caching = allocation != nullptr && allocation->stream != 0;
    if (!caching || use.kind == OpKind::kHostAccess) return HostLearns(use, free, at);
    const StreamInfo& stream = streams_[use.stream];
    const bool recordable = use.stream != allocation->stream && stream.destroyed > at &&
                            stream.type != StreamType::kPerThread;
    if (recordable && rng_->Percent(50)) {
      return Insert(free, At(free.host) + "record_stream " +
                              program_.strings.Get(allocation->name) + " " + stream.name);
    }
    StreamLearns(use, allocation->stream, free, at);
  }

  const Program& program_;
  Rng* rng_;
  Edits edits_;
  std::map<HostId, std::string> hosts_;
  std::map<StreamId, StreamInfo> streams_;
  std::map<BufferId, const Op*> allocations_;
};

std::string WithoutBatch(const std::string& line) {
  std::string plain = line;
  for (const char* words : {" source any_time", " source in_call", " same_batch"}) {
    if (const size_t at = plain.find(words); at != std::string::npos) {
      plain.erase(at, std::string_view(words).size());
    }
  }
  return plain;
}

Lines Apply(const Lines& lines, const Edits& edits) {
  Lines result;
  auto next = edits.before.begin();
  for (uint32_t number = 1; number <= lines.size(); ++number) {
    for (; next != edits.before.end() && next->first == number; ++next) {
      result.push_back(next->second);
    }
    if (edits.dropped.contains(number)) continue;
    const std::string& line = lines[number - 1];
    result.push_back(edits.plain.contains(number) ? WithoutBatch(line) : line);
  }
  return result;
}

}  // namespace

Lines Repair(Lines lines, int rounds, size_t least, size_t most, Rng* rng) {
  for (; rounds > 0; --rounds) {
    const auto program = Parse(lines);
    if (!program) break;
    const Edits edits = Mender(*program, rng).Mend(reference::Judge(*program).hazards);
    if (edits.before.empty() && edits.dropped.empty() && edits.plain.empty()) break;
    Lines mended = Apply(lines, edits);
    if (mended.size() > most || mended.size() < least || !Parse(mended)) break;
    lines = std::move(mended);
  }
  return lines;
}

}  // namespace ss::random
