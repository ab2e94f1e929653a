#include "src/explain/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/explain/batch.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

constexpr size_t kLookBack = 200'000;  // operations searched for the last wait before a finding
constexpr size_t kLookAhead = 2'000;   // operations searched for a wait that comes too late
constexpr size_t kNone = SIZE_MAX;

// What a wait of the consumer covers: the newest record of its event at the wait.
struct Covered {
  size_t wait = kNone;
  size_t record = kNone;  // kNone: never recorded
};

constexpr int kUnrecorded = 5;

// One line of evidence. Those that name a mistake in a wait come before those that name another
// one.
struct Reason {
  int rank = 0;
  std::string text;
  size_t at = kNone;  // the wait that it is about
};

class Explainer {
 public:
  Explainer(Finding* finding, const Tape& tape, const LaneNames& names)
      : finding_(*finding), tape_(tape), names_(names) {}

  void Explain() {
    const Instance& at = finding_.instances[0];
    bool lifetime = finding_.code == "lifetime";
    bool late = lifetime && finding_.second.kind != OpKind::kAllocAsync &&
                finding_.first.index > finding_.second.index;
    if (late) {
      Say(0, at.second_index, "op {} uses {} after its free at op {}", finding_.first.op,
          finding_.buffer.name, finding_.second.op);
    } else if (lifetime && finding_.second.kind == OpKind::kAllocAsync) {
      Edge(at.second_index, at.first_index, Producer(finding_.second), Producer(finding_.first));
    } else if (lifetime) {
      Lifetime(at);
    } else {
      Edge(at.first_index, at.second_index, Producer(finding_.first), Producer(finding_.second));
    }
    Tell();
  }

 private:
  struct End {
    StreamId stream;
    std::string name;
  };
  End Producer(const Site& site) const {
    const bool ranks = finding_.first.rank != finding_.second.rank;
    return {site.stream, ranks ? fmt::format("rank{} {}", site.rank, site.lane) : site.lane};
  }
  const Op& At(size_t index) const { return (*tape_.ops)[index]; }
  static size_t Stop(size_t from) { return from > kLookBack ? from - kLookBack : 0; }
  std::string StreamName(StreamId id) const { return names_.StreamIn(finding_, id); }
  // A wait of a context is one of each of its streams, a record over it one behind each of them.
  bool On(const Op& op, StreamId stream) const {
    return names_.contexts().Includes(op.stream, stream);
  }

  template <typename... T>
  void Say(int rank, size_t at, fmt::format_string<T...> format, T&&... values) {
    reasons_.push_back({rank, fmt::format(format, std::forward<T>(values)...), at});
  }

  // The record of `event` that was in force before `before`.
  size_t RecordBefore(EventId event, size_t before) const {
    for (size_t i = before; i-- > Stop(before);) {
      if (At(i).kind == OpKind::kEventRecord && At(i).object == event) return i;
    }
    return kNone;
  }

  std::vector<Covered> WaitsBefore(StreamId stream, size_t before) const {
    std::vector<Covered> waits;
    for (size_t i = before; i-- > Stop(before) && waits.size() < 8;) {
      const Op& op = At(i);
      if (op.kind != OpKind::kStreamWaitEvent || !On(op, stream)) continue;
      waits.push_back({i, RecordBefore(op.object, i)});
    }
    return waits;
  }

  // --- why no wait of the consumer covers the producer's operation

  // One line a wait that the consumer did have; the first that explains becomes the root cause.
  void Edge(size_t first, size_t second, const End& producer, const End& consumer) {
    if (Batched(first, second)) return;
    if (consumer.stream == 0) return HostConsumer(first, second, producer, consumer);
    const bool fill = (At(first).flags & kFill) != 0;
    std::set<StreamId> told;  // streams waited for in vain; 0 = an event never recorded
    for (const Covered& wait : WaitsBefore(consumer.stream, second)) {
      if (wait.record == kNone) {
        if (told.insert(0).second) {
          Say(kUnrecorded, wait.wait, "{} waits at op {} for an event that was never recorded",
              consumer.name, At(wait.wait).id);
        }
      } else if (On(At(wait.record), producer.stream) && wait.record < first) {
        Say(2, wait.wait,
            "{} last waited for {} at op {} (recorded at op {}), before op {} was queued",
            consumer.name, producer.name, At(wait.wait).id, At(wait.record).id, At(first).id);
        if (fill) Say(2, first, "the allocation and its fill lie between the wait and the use");
        break;
      } else if (!On(At(wait.record), producer.stream) && wait.wait > first) {
        OtherStream(wait, first, producer, consumer, told);
      }
    }
    HostWaits(first, second, producer);
    LateWait(first, second, producer, consumer);
    if (producer.stream == 0) {
      Say(3, first, "{} did op {} and nothing hands that over to {}", producer.name, At(first).id,
          consumer.name);
    }
    Programmatic(first, second);
    // A slot's first use may well wait for an event that nobody has recorded yet: by itself that
    // explains nothing.
    const bool explained = std::any_of(reasons_.begin(), reasons_.end(), [](const Reason& reason) {
      return reason.rank != kUnrecorded;
    });
    if (!explained) {
      Say(kUnrecorded - 1, first, "{} never waits for {} between op {} and op {}", consumer.name,
          producer.name, At(first).id, At(second).id);
    }
  }

  const Site& SiteAt(size_t index) const {
    const bool first = index == finding_.instances[0].first_index;
    return first ? finding_.first : finding_.second;
  }

  // Copies whose order is not their stream's: what that waited for explains nothing.
  bool Batched(size_t first, size_t second) {
    if (OfOneBatch(*tape_.ops, first, second)) {
      Say(0, second, "op {} and op {} are copies of one batch, which are in no order", At(first).id,
          At(second).id);
      return true;
    }
    const bool late = ReadsApart(At(second), SiteAt(second));
    const bool early = ReadsApart(At(first), SiteAt(first));
    if (!late && !early) return false;
    const Op& copy = At(late ? second : first);
    Say(0, late ? second : first, "op {} reads its source {}, {}", copy.id,
        copy.flags & kSourceInCall ? "during the call" : "at any time from the call on",
        late ? "whatever its stream has to do before" : "also after it has returned");
    return true;
  }

  // The wait took a record of another stream. Was there one behind the producer that it replaced?
  void OtherStream(const Covered& wait, size_t first, const End& producer, const End& consumer,
                   std::set<StreamId>& told) {
    const Op& record = At(wait.record);
    const size_t replaced = RecordBefore(record.object, wait.record);
    if (replaced != kNone && replaced > first && On(At(replaced), producer.stream)) {
      Say(0, wait.record,
          "the event recorded behind op {} at op {} was recorded again on {} at op {}, before {} "
          "waited "
          "for it at op {}",
          At(first).id, At(replaced).id, StreamName(record.stream), record.id, consumer.name,
          At(wait.wait).id);
    } else if (told.insert(record.stream).second) {
      Say(2, wait.wait, "{} waits at op {} for {}, but op {} ran on {}", consumer.name,
          At(wait.wait).id, StreamName(record.stream), At(first).id, producer.name);
    }
  }

  // What the issuing thread synchronised in between, if it was something else.
  void HostWaits(size_t first, size_t second, const End& producer) {
    for (size_t i = second; i-- > first;) {
      const Op& op = At(i);
      if (op.host != At(second).host || (op.flags & kSynthetic) != 0) continue;
      if (op.kind == OpKind::kStreamSync && op.stream != producer.stream) {
        return Say(3, i, "{} waits at op {} for {}, but op {} ran on {}", HostName(second), op.id,
                   StreamName(op.stream), At(first).id, producer.name);
      }
      bool failed = op.kind == OpKind::kStreamQuery && op.stream == producer.stream;
      if (failed && (op.flags & kNotReady) != 0) {
        return Say(3, i, "{} asks at op {} whether {} is done, and it is not", HostName(second),
                   op.id, producer.name);
      }
    }
  }

  const std::string& HostName(size_t index) const {
    const bool first = index == finding_.instances[0].first_index;
    return first ? finding_.first.host : finding_.second.host;
  }

  void LateWait(size_t first, size_t second, const End& producer, const End& consumer) {
    const size_t end = std::min(tape_.ops->size(), second + kLookAhead);
    for (size_t i = second + 1; i < end; ++i) {
      const Op& op = At(i);
      if (op.kind != OpKind::kStreamWaitEvent || !On(op, consumer.stream)) continue;
      const size_t record = RecordBefore(op.object, i);
      if (record == kNone || record < first || !On(At(record), producer.stream)) continue;
      return Say(4, i, "{} waits for {} only at op {}, behind op {}", consumer.name, producer.name,
                 op.id, At(second).id);
    }
  }

  void Programmatic(size_t first, size_t second) {
    const Op& op = At(second);
    if (op.kind != OpKind::kKernel || (op.flags & kPdl) == 0 || (op.flags & kPdlWait) != 0) return;
    const size_t next = second + 1;
    const bool later =
        next < tape_.ops->size() && At(next).flags & kAfterGridWait && At(next).stream == op.stream;
    Say(1, second, "op {} was launched programmatically and {}", op.id,
        later ? "touches this before it waits for its grid dependencies"
              : "does not wait for its grid dependencies");
    if (At(first).stream != op.stream || (At(first).flags & kNoTrigger) == 0) return;
    Say(2, first, "the code of op {} lets no kernel behind it start before it has ended",
        At(first).id);
  }

  void HostConsumer(size_t first, size_t second, const End& producer, const End& consumer) {
    Say(0, kNone, "{} goes on at op {} without having seen {} finish op {}", consumer.name,
        At(second).id, producer.name, At(first).id);
    HostWaits(first, second, producer);
    for (size_t i = first; i-- > Stop(first);) {
      const Op& op = At(i);
      bool same = op.kind == OpKind::kStreamSync && op.stream == producer.stream;
      if (!same || op.host != At(second).host) continue;
      return Say(3, i, "{} last waited for {} at op {}, before op {} was queued", consumer.name,
                 producer.name, op.id, At(first).id);
    }
  }

  // --- why nothing keeps the storage

  void Lifetime(const Instance& at) {
    const Op& free = At(at.second_index);
    const std::string &user = finding_.first.lane, &owner = finding_.buffer.owner;
    for (const Covered& wait : WaitsBefore(finding_.buffer.owner_stream, at.second_index)) {
      if (owner.empty() || wait.record == kNone || !On(At(wait.record), finding_.first.stream))
        continue;
      Say(0, wait.wait,
          "the last wait of {} for {} before the free is op {}, and op {} was queued "
          "behind it",
          owner, user, At(wait.wait).id, At(at.first_index).id);
      break;
    }
    Records(at, free);
    if (free.kind == OpKind::kFree && at.first_index < at.second_index &&
        finding_.first.stream != 0) {
      Say(1, at.second_index, "the free at op {} comes while op {} is queued on {}", free.id,
          At(at.first_index).id, user);
    }
    WaitBehindFree(at);
  }

  // A wait that comes next looks as if it helped.
  void WaitBehindFree(const Instance& at) {
    const std::string &user = finding_.first.lane, &owner = finding_.buffer.owner;
    const size_t end = std::min(tape_.ops->size(), at.second_index + kLookAhead);
    for (size_t i = at.second_index + 1; i < end && !owner.empty(); ++i) {
      const Op& op = At(i);
      if (op.kind != OpKind::kStreamWaitEvent || !On(op, finding_.buffer.owner_stream)) continue;
      const size_t record = RecordBefore(op.object, i);
      if (record == kNone || !On(At(record), finding_.first.stream)) continue;
      if (record > at.first_index) {
        return Say(1, i, "{} waits for {} only at op {}, behind the free", owner, user, op.id);
      }
      return Say(1, i,
                 "{} waits for {} at op {}, behind the free, and for a record (op {}) from "
                 "before op {}",
                 owner, user, op.id, At(record).id, At(at.first_index).id);
    }
  }

  void Records(const Instance& at, const Op& free) {
    const std::string &user = finding_.first.lane, &owner = finding_.buffer.owner;
    if (free.flags & kSynthetic) {
      return Say(
          0, at.second_index,
          "the launch at op {} uses again what the launch before left in {}, and does not wait "
          "for {}",
          free.id, finding_.buffer.name, user);
    }
    size_t noop = kNone, other = kNone;
    for (size_t i = at.second_index; i-- > Stop(at.second_index);) {
      const Op& op = At(i);
      bool allocated = op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync;
      if (allocated && op.object == free.object) break;
      if (op.kind != OpKind::kRecordStream || op.object != free.object) continue;
      (op.stream == finding_.buffer.owner_stream ? noop : other) = i;
    }
    if (free.kind == OpKind::kFreeAsync) {
      Say(0, at.second_index, "{} frees it at op {} without waiting for {}", finding_.second.lane,
          free.id, user);
    } else if (noop != kNone) {
      Say(0, noop,
          "{} has record_stream({}), its owner, which protects nothing; it has no "
          "record_stream({})",
          finding_.buffer.name, owner, user);
    } else if (other != kNone) {
      Say(0, other, "{} has record_stream({}), but no record_stream({})", finding_.buffer.name,
          StreamName(At(other).stream), user);
    } else if (!owner.empty()) {
      Say(0, kNone, "{} has no record_stream({})", finding_.buffer.name, user);
    } else {
      Say(0, kNone, "nothing makes the free at op {} wait for {}", free.id, user);
    }
  }

  // The two strongest reasons are the root cause; all are evidence.
  void Tell() {
    std::stable_sort(reasons_.begin(), reasons_.end(),
                     [](const Reason& a, const Reason& b) { return a.rank < b.rank; });
    for (size_t i = 0; i < reasons_.size(); ++i) {
      const Reason& reason = reasons_[i];
      if (i < 2) finding_.root_cause += (i == 0 ? "" : "; ") + reason.text;
      finding_.evidence.push_back(reason.text);
      Site site;
      if (reason.at != kNone) {
        const Op& op = At(reason.at);
        site.op = op.id;
        site.index = reason.at;
        site.kind = op.kind;
        site.name = Name(op.kind);
        site.stack = op.stack;
        site.line = op.line;
      }
      finding_.evidence_sites.push_back(std::move(site));
    }
  }

  Finding& finding_;
  const Tape& tape_;
  const LaneNames& names_;
  std::vector<Reason> reasons_;
};

}  // namespace

void ExplainCause(Finding* finding, const Tape& tape, const LaneNames& names) {
  if (!finding->instances.empty()) Explainer(finding, tape, names).Explain();
}

}  // namespace ss
