#include "src/explain/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "src/program/op_names.h"

namespace ss {
namespace {

constexpr size_t kTimeline = 14;       // operations a picture can carry
constexpr size_t kLookBack = 200'000;  // operations searched for the last wait before a finding

// What a wait of the consumer covers: the newest record of its event at the wait.
struct Covered {
  size_t wait = SIZE_MAX;
  size_t record = SIZE_MAX;  // SIZE_MAX: never recorded
};

class Explainer {
 public:
  Explainer(Finding* finding, const Tape& tape) : finding_(*finding), tape_(tape) {}

  void Explain() {
    const Instance& at = finding_.instances[0];
    bool lifetime = finding_.code == "lifetime";
    bool late = lifetime && finding_.second.kind != OpKind::kAllocAsync &&
                finding_.first.index > finding_.second.index;
    if (late) {
      finding_.root_cause = fmt::format("op {} uses {} after its free at op {}", finding_.first.op,
                                        finding_.buffer.name, finding_.second.op);
    } else if (lifetime && finding_.second.kind == OpKind::kAllocAsync) {
      Edge(at.second_index, at.first_index, Producer(finding_.second), Consumer(finding_.first));
    } else if (lifetime) {
      Lifetime(at);
    } else {
      Edge(at.first_index, at.second_index, Producer(finding_.first), Consumer(finding_.second));
    }
    Timeline(at);
  }

 private:
  struct End {
    StreamId stream;
    std::string name;
  };
  static End Producer(const Site& site) { return {site.stream, site.lane}; }
  static End Consumer(const Site& site) { return {site.stream, site.lane}; }
  const Op& At(size_t index) const { return (*tape_.ops)[index]; }

  std::vector<Covered> WaitsBefore(StreamId stream, size_t before) const {
    std::vector<Covered> waits;
    size_t stop = before > kLookBack ? before - kLookBack : 0;
    for (size_t i = before; i-- > stop && waits.size() < 8;) {
      const Op& op = At(i);
      if (op.kind != OpKind::kStreamWaitEvent || op.stream != stream) continue;
      Covered covered{i, SIZE_MAX};
      for (size_t j = i; j-- > stop;) {
        if (At(j).kind == OpKind::kEventRecord && At(j).object == op.object) {
          covered.record = j;
          break;
        }
      }
      waits.push_back(covered);
    }
    return waits;
  }

  std::string StreamName(StreamId id) const {
    if (id == finding_.first.stream) return finding_.first.lane;
    if (id == finding_.second.stream) return finding_.second.lane;
    if (id == finding_.buffer.owner_stream) return finding_.buffer.owner;
    for (const Op& op : *tape_.ops) {
      if (op.kind == OpKind::kStreamCreate && op.stream == id)
        return tape_.names->strings.Get(op.name);
    }
    return fmt::format("stream#{}", id);
  }

  // One line a wait that the consumer did have; the first that explains becomes the root cause.
  void Edge(size_t first, size_t second, const End& producer, const End& consumer) {
    if (consumer.stream == 0) {
      Say(fmt::format("{} goes on at op {} without having seen {} finish op {}", consumer.name,
                      At(second).id, producer.name, At(first).id));
      return;
    }
    bool allocated_between = false;
    std::set<StreamId> told;  // streams waited for in vain; 0 = an event never recorded
    for (const Covered& wait : WaitsBefore(consumer.stream, second)) {
      if (wait.record == SIZE_MAX) {
        if (!told.insert(0).second) continue;
        Say(fmt::format("{} waits at op {} for an event that was never recorded", consumer.name,
                        At(wait.wait).id));
      } else if (At(wait.record).stream == producer.stream && wait.record < first) {
        allocated_between = (At(first).flags & kFill) != 0;
        Say(fmt::format(
            "{} last waited for {} at op {} (recorded at op {}), before op {} was queued",
            consumer.name, producer.name, At(wait.wait).id, At(wait.record).id, At(first).id));
        break;
      } else if (At(wait.record).stream != producer.stream && wait.wait > first) {
        if (!told.insert(At(wait.record).stream).second) continue;
        Say(fmt::format("{} waits at op {} for {}, but op {} ran on {}", consumer.name,
                        At(wait.wait).id, StreamName(At(wait.record).stream), At(first).id,
                        producer.name));
      }
    }
    if (allocated_between) Say("the allocation and its fill lie between the wait and the use");
    if (producer.stream == 0) {
      Say(fmt::format("{} did op {} and nothing hands that over to {}", producer.name, At(first).id,
                      consumer.name));
    }
    if (finding_.evidence.empty()) {
      Say(fmt::format("{} never waits for {} between op {} and op {}", consumer.name, producer.name,
                      At(first).id, At(second).id));
    }
  }

  void Lifetime(const Instance& at) {
    const Op& free = At(at.second_index);
    const std::string &user = finding_.first.lane, &owner = finding_.buffer.owner;
    for (const Covered& wait : WaitsBefore(finding_.buffer.owner_stream, at.second_index)) {
      bool ours = wait.record != SIZE_MAX && At(wait.record).stream == finding_.first.stream;
      if (owner.empty() || !ours) continue;
      Say(fmt::format("{} last waited for {} at op {}, before op {} was queued", owner, user,
                      At(wait.wait).id, At(at.first_index).id));
      break;
    }
    bool noop = false;
    for (size_t i = at.second_index; i-- > 0 && At(i).kind != OpKind::kAlloc;) {
      if (At(i).kind != OpKind::kRecordStream || At(i).object != free.object) continue;
      noop |= At(i).stream == finding_.buffer.owner_stream;
    }
    if (free.kind == OpKind::kFreeAsync) {
      Say(fmt::format("{} frees it at op {} without waiting for {}", finding_.second.lane, free.id,
                      user));
    } else if (noop) {
      Say(
          fmt::format("{} has record_stream({}), its owner, which protects nothing; it has no "
                      "record_stream({})",
                      finding_.buffer.name, owner, user));
    } else if (!owner.empty()) {
      Say(fmt::format("{} has no record_stream({})", finding_.buffer.name, user));
    } else {
      Say(fmt::format("nothing makes the free at op {} wait for {}", free.id, user));
    }
  }

  void Say(std::string line) {
    if (finding_.root_cause.empty()) {
      finding_.root_cause = line;
    } else if (finding_.evidence.size() == 1) {
      finding_.root_cause += "; " + line;
    }
    finding_.evidence.push_back(std::move(line));
  }

  // The finding's operations and the ordering calls of its lanes around them.
  void Timeline(const Instance& at) {
    size_t from = std::min(at.first_index, at.second_index),
           to = std::max(at.first_index, at.second_index);
    if (finding_.reuse.op != 0) to = std::max(to, finding_.reuse.index);
    std::vector<size_t> picked;
    auto concerns = [&](StreamId stream) {
      return stream != 0 && (stream == finding_.first.stream || stream == finding_.second.stream ||
                             stream == finding_.buffer.owner_stream);
    };
    auto shows = [&](size_t i) {
      const Op& op = At(i);
      bool orders = op.kind == OpKind::kStreamWaitEvent || op.kind == OpKind::kEventRecord ||
                    op.kind == OpKind::kStreamSync;
      return i == at.first_index || i == at.second_index ||
             (finding_.reuse.op && i == finding_.reuse.index) || (orders && concerns(op.stream));
    };
    size_t stop = from > kLookBack ? from - kLookBack : 0;
    for (size_t i = from; i-- > stop && picked.size() < 4;) {
      if (shows(i)) picked.insert(picked.begin(), i);
    }
    for (size_t i = from; i <= to && i < tape_.ops->size(); ++i) {
      bool must = i == at.first_index || i == at.second_index || i == finding_.reuse.index;
      if (shows(i) && (must || picked.size() < kTimeline)) picked.push_back(i);
    }
    for (size_t i : picked) finding_.timeline.push_back(MakeSite(i));
  }

  Site MakeSite(size_t index) const {
    if (index == finding_.first.index) return finding_.first;
    if (index == finding_.second.index) return finding_.second;
    if (finding_.reuse.op != 0 && index == finding_.reuse.index) return finding_.reuse;
    const Op& op = At(index);
    Site site;
    site.op = op.id;
    site.index = index;
    site.kind = op.kind;
    site.stream = op.stream;
    site.lane = StreamName(op.stream);
    site.name = Name(op.kind);
    site.access = site.name;
    if (op.kind == OpKind::kStreamWaitEvent) {
      for (size_t j = index; j-- > 0;) {
        if (At(j).kind != OpKind::kEventRecord || At(j).object != op.object) continue;
        site.name = fmt::format("wait {}", At(j).id);
        break;
      }
    }
    return site;
  }

  Finding& finding_;
  const Tape& tape_;
};

}  // namespace

void ExplainCause(Finding* finding, const Tape& tape) {
  if (!finding->instances.empty()) Explainer(finding, tape).Explain();
}

}  // namespace ss
