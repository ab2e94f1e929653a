#include "src/explain/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "src/explain/batch.h"
#include "src/model/graphs.h"
#include "src/model/rules.h"

namespace ss {
namespace {

// As an expect line may call it.
const std::string& OperationName(const Site& site) {
  return site.label.empty() ? site.name : site.label;
}

// Beside one of another process.
std::string HostText(const Site& site, const Site& other) {
  return site.rank == other.rank ? site.host : fmt::format("rank{} {}", site.rank, site.host);
}

class Proposer {
 public:
  Proposer(const Finding& finding, const Tape& tape, EventId event)
      : finding_(finding), tape_(tape), event_(event) {}

  std::vector<Candidate> Propose() {
    if (finding_.code == "lifetime") {
      Lifetime();
    } else {
      Race();
    }
    return std::move(candidates_);
  }

 private:
  // One lane of a proposed edge: the stream, and whose it is where it is a per-thread one.
  struct End {
    StreamId stream = 0;
    HostId host = 0;
    std::string name;
  };

  const Op& At(size_t index) const { return (*tape_.ops)[index]; }

  // Inside one launch of a graph the captured streams are what a person can edit; across its border
  // the stream that launched it.
  End EndOf(const Site& site) const {
    const Instance& at = finding_.instances[0];
    const size_t index = &site == &finding_.first ? at.first_index : at.second_index;
    if (!Inside(index)) return {site.stream, site.host_id, site.lane};
    if (SameLaunch()) return {site.stream, site.host_id, site.lane_aliases[0]};
    const StreamId launched = At(LaunchOf(index)).stream;
    return {launched, site.host_id, NameOf(launched, site)};
  }
  std::string NameOf(StreamId launched, const Site& site) const {
    if (site.launch_stream == launched) return site.lane_aliases[2];
    for (size_t i = tape_.ops->size(); i-- > 0;) {
      if (At(i).kind == OpKind::kStreamCreate && At(i).stream == launched)
        return tape_.names->strings.Get(At(i).name);
    }
    return "";
  }

  // For people: equal names on two ranks are told apart.
  std::string Told(const End& end) const {
    const Site &first = finding_.first, &second = finding_.second;
    if (first.rank == second.rank) return end.name;
    return fmt::format("rank{} {}", end.host == first.host_id ? first.rank : second.rank, end.name);
  }
  End Owner() const {
    const bool of_launch = finding_.buffer.owner_stream >= kGraphLanes;
    if (of_launch && !SameLaunch() && Inside(finding_.instances[0].second_index))
      return EndOf(finding_.second);
    const std::string& name = finding_.buffer.owner;
    size_t slash = name.find('/');
    return {finding_.buffer.owner_stream, finding_.buffer.owner_host,
            SameLaunch() && slash != std::string::npos ? name.substr(slash + 1) : name};
  }

  // Where it was queued: an access inside a host function was so with the function.
  size_t QueuedAt(size_t index) const {
    const Op& op = At(index);
    if (op.kind != OpKind::kHostAccess || op.aux != 1) return index;
    for (size_t i = index; i-- > 0;) {
      if (At(i).kind == OpKind::kHostFn && At(i).id == op.value) return i;
    }
    return index;
  }
  bool Inside(size_t index) const {
    const Op& op = At(QueuedAt(index));
    return op.stream >= kGraphLanes || LaunchedOn(op) != 0;
  }
  // The mark of the launch that the operation at `index` belongs to, or where it was queued.
  size_t LaunchOf(size_t index) const {
    const bool inside = Inside(index);
    index = QueuedAt(index);
    while (inside && index > 0 && At(index).kind != OpKind::kGraphLaunch) --index;
    return index;
  }
  bool SameLaunch() const {
    const Instance& at = finding_.instances[0];
    return Inside(at.first_index) && Inside(at.second_index) &&
           LaunchOf(at.first_index) == LaunchOf(at.second_index);
  }
  // Where a call comes before the operation: at capture if the other one is in the same launch.
  size_t Before(size_t index) const {
    return SameLaunch() ? QueuedAt(index) : BatchOf(*tape_.ops, LaunchOf(index));
  }

  void Race() {
    if (finding_.code == "fill-race") Realloc();
    End first = EndOf(finding_.first), second = EndOf(finding_.second);
    PdlWait();
    SourceOrder(finding_.second);
    SplitBatch();
    auto before = [this](const Instance& at) { return Before(at.second_index); };
    if (first.stream != 0 && second.stream != 0) {
      Wait(second, first, before);
    }
    if (first.stream != 0) {
      HostSync(first, before);
    } else {
      HandOff();
    }
  }

  void Lifetime() {
    bool early = finding_.second.kind == OpKind::kAllocAsync;
    bool late = !early && finding_.first.index > finding_.second.index;
    End use = EndOf(finding_.first);
    if (late) return FreeLater(use);
    if (use.stream == 0) return HandOff();
    if (early) {
      SourceOrder(finding_.first);
      auto before_use = [this](const Instance& at) { return Before(at.first_index); };
      End allocation = EndOf(finding_.second);
      Wait(use, allocation, before_use);
      return HostSync(allocation, before_use);
    }
    auto before_free = [this](const Instance& at) { return Before(at.second_index); };
    bool caching = finding_.buffer.memory == MemoryKind::kCaching;
    const bool by_launch = (At(finding_.instances[0].second_index).flags & kSynthetic) != 0;
    if ((caching || PinnedByAllocator()) && !by_launch) RecordStream(use);
    if (finding_.second.kind == OpKind::kFreeAsync) Wait(EndOf(finding_.second), use, before_free);
    if (caching) Wait(Owner(), use, before_free);
    HostSync(use, before_free);
  }

  // Pinned memory of an allocator that is told of streams: nobody can tell the driver. A litmus
  // file's always is.
  bool PinnedByAllocator() const {
    if (finding_.buffer.memory != MemoryKind::kPinned) return false;
    if (!tape_.names->recorded) return true;
    const size_t free = finding_.instances[0].second_index;
    for (size_t i = free; i-- > 0;) {
      if (At(i).kind == OpKind::kAlloc && At(i).object == At(free).object) return At(i).aux != 0;
    }
    return false;
  }

  using Place = std::function<size_t(const Instance&)>;

  void Wait(const End& consumer, const End& producer, const Place& place) {
    if (consumer.stream == producer.stream && consumer.host == producer.host) return;
    Candidate candidate;
    candidate.fix = {FixKind::kWait, consumer.name, producer.name, finding_.buffer.name,
                     fmt::format("{} waits for {} before op {}", Told(consumer), Told(producer),
                                 At(place(finding_.instances[0])).id)};
    for (const Instance& instance : finding_.instances) {
      size_t before = place(instance);
      AddEdge(candidate.edit, {before, HostFor(producer, before), producer.stream},
              {before, HostFor(consumer, before), consumer.stream});
    }
    candidates_.push_back(std::move(candidate));
    WaitForEvent(consumer, producer, place);
  }

  struct Queued {
    size_t before = 0;  // position
    HostId host = 0;
    StreamId stream = 0;
  };
  // A fresh event, recorded and waited for.
  void AddEdge(Edit& edit, const Queued& record, const Queued& wait) {
    const EventId event = event_++;
    auto insert = [&](OpKind kind, const Queued& at) {
      edit.insertions.push_back(
          {at.before, {.kind = kind, .host = at.host, .stream = at.stream, .object = event}});
    };
    insert(OpKind::kEventRecord, record);
    insert(OpKind::kStreamWaitEvent, wait);
  }

  // The same edge with the record directly behind the producer's operation: what is queued behind
  // that on its stream need not be waited for.
  void WaitForEvent(const End& consumer, const End& producer, const Place& place) {
    const Instance& at = finding_.instances[0];
    if (Inside(at.first_index) || finding_.code == "lifetime") return;
    Candidate candidate;
    candidate.if_cheaper = true;
    candidate.fix = {
        FixKind::kWait, consumer.name, producer.name, finding_.buffer.name,
        fmt::format("{} waits, before op {}, for an event recorded behind op {}", Told(consumer),
                    At(place(at)).id, At(EndOfBatch(*tape_.ops, at.first_index)).id)};
    for (const Instance& instance : finding_.instances) {
      const size_t before = place(instance);
      if (before <= instance.first_index) return;
      const HostId host = At(instance.first_index).host;
      const size_t behind = EndOfBatch(*tape_.ops, instance.first_index);
      if (before <= behind) return;
      AddEdge(candidate.edit, {behind + 1, host, producer.stream},
              {before, HostFor(consumer, before), consumer.stream});
    }
    candidates_.push_back(std::move(candidate));
  }

  // Who issues an inserted call: the thread that is at work there, which is the owner for its own
  // per-thread stream.
  HostId HostFor(const End& end, size_t before) const {
    bool foreign = end.name.find('@') != std::string::npos;
    return foreign ? end.host : At(before).host;
  }

  // Nothing synchronises in the middle of a launch.
  void HostSync(const End& producer, const Place& place) {
    if (SameLaunch()) return;
    const bool ranks = finding_.first.rank != finding_.second.rank;
    const OpId before_op = At(place(finding_.instances[0])).id;
    Candidate candidate;
    candidate.fix = {
        FixKind::kHostSync, "", producer.name, finding_.buffer.name,
        ranks ? fmt::format("{} is synchronised by its own process, which lets the other one know, "
                            "before op {}",
                            Told(producer), before_op)
              : fmt::format("the host synchronises {} before op {}", Told(producer), before_op)};
    for (const Instance& instance : finding_.instances) {
      size_t before = place(instance);
      const HostId other = At(before).host;
      const HostId host = ranks ? producer.host : other;
      candidate.edit.insertions.push_back(
          {before, {.kind = OpKind::kStreamSync, .host = host, .stream = producer.stream}});
      if (host == other) continue;
      candidate.edit.insertions.push_back(
          {before, {.kind = OpKind::kHandoff, .host = host, .object = other}});
    }
    candidates_.push_back(std::move(candidate));
  }

  // The second operation was launched programmatically and does not wait for its predecessor.
  void PdlWait() {
    const Op& second = At(finding_.instances[0].second_index);
    if (!(second.flags & kPdl) || (second.flags & kPdlWait)) return;
    const Site& site = finding_.second;
    const std::string& name = OperationName(site);
    Candidate candidate;
    candidate.fix = {FixKind::kPdlWait, name, "", finding_.buffer.name,
                     fmt::format("{} waits for its grid dependencies before it touches {}", name,
                                 finding_.buffer.name)};
    for (const Instance& instance : finding_.instances) {
      candidate.edit.flags.push_back({instance.second_index, kPdlWait, 0});
    }
    candidates_.push_back(std::move(candidate));
  }

  // A copy's source that is read out of the stream's order: in it where that reading is the `later`
  // one of the two; else before the call returns.
  void SourceOrder(const Site& later) {
    const Site& earlier = &later == &finding_.first ? finding_.second : finding_.first;
    const bool late = ReadsApart(AtSite(later), later);
    if (!late && !ReadsApart(AtSite(earlier), earlier)) return;
    const Site& site = late ? later : earlier;
    const bool first = &site == &finding_.first;
    const std::string& name = OperationName(site);
    const char* when = late
                           ? "in the stream's order (CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)"
                           : "before the call returns (CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)";
    Candidate candidate;
    candidate.fix = {FixKind::kSourceOrder, name, "", finding_.buffer.name,
                     fmt::format("op {} reads its source {}", site.op, when)};
    for (const Instance& instance : finding_.instances) {
      const size_t copy = first ? instance.first_index : instance.second_index;
      candidate.edit.flags.push_back({copy, late ? 0u : kSourceInCall, kSourceApart});
    }
    candidates_.push_back(std::move(candidate));
  }
  const Op& AtSite(const Site& site) const {
    const Instance& at = finding_.instances[0];
    return At(&site == &finding_.first ? at.first_index : at.second_index);
  }

  void SplitBatch() {
    const Instance& at = finding_.instances[0];
    if (!OfOneBatch(*tape_.ops, at.first_index, at.second_index)) return;
    const Site& site = finding_.second;
    const std::string& name = OperationName(site);
    Candidate candidate;
    candidate.fix = {FixKind::kSplitBatch, name, "", finding_.buffer.name,
                     fmt::format("op {} begins a batch of its own", site.op)};
    for (const Instance& instance : finding_.instances) {
      candidate.edit.flags.push_back({instance.second_index, kBatchBegin, kSameBatch});
    }
    candidates_.push_back(std::move(candidate));
  }

  void HandOff() {
    const Site &from = finding_.first, &to = finding_.second;
    if (from.host_id == to.host_id) return;
    Candidate candidate;
    candidate.fix = {FixKind::kHandoff, to.host, from.host, finding_.buffer.name,
                     fmt::format("{} continues only after {} got past op {}", HostText(to, from),
                                 HostText(from, to), from.op)};
    for (const Instance& instance : finding_.instances) {
      Op handoff{.kind = OpKind::kHandoff, .host = from.host_id, .object = to.host_id};
      candidate.edit.insertions.push_back({BatchOf(*tape_.ops, instance.second_index), handoff});
    }
    candidates_.push_back(std::move(candidate));
  }

  void RecordStream(const End& use) {
    Candidate candidate;
    candidate.fix = {FixKind::kRecordStream, use.name, "", finding_.buffer.name,
                     fmt::format("record_stream({}, {})", finding_.buffer.name, use.name)};
    for (const Instance& instance : finding_.instances) {
      const Op& free = At(instance.second_index);
      Op record{.kind = OpKind::kRecordStream,
                .host = HostFor(use, instance.second_index),
                .stream = use.stream,
                .object = free.object};
      candidate.edit.insertions.push_back({instance.second_index, record});
    }
    candidates_.push_back(std::move(candidate));
  }

  // Used after its free: the free moves behind the last such use and waits for it. A free inside a
  // graph stays where it is.
  void FreeLater(const End& use) {
    std::map<size_t, size_t> last;  // free -> its last use
    for (const Instance& at : finding_.instances) {
      size_t& latest = last[at.second_index];
      latest = std::max(latest, at.first_index);
    }
    Candidate candidate;
    candidate.fix = {FixKind::kFreeLater, "", use.name, finding_.buffer.name,
                     fmt::format("free {} only when op {} is complete", finding_.buffer.name,
                                 At(last.begin()->second).id)};
    for (const auto& [free, used] : last) {
      const size_t behind = BehindLaunchOf(used);
      if ((At(free).flags & kSynthetic) != 0 || HandedOut(free, behind)) return;
      const HostId user = At(used).host, owner = At(free).host;
      auto insert = [&](Op op) { candidate.edit.insertions.push_back({behind, op}); };
      if (use.stream != 0)
        insert({.kind = OpKind::kStreamSync, .host = user, .stream = use.stream});
      if (user != owner) insert({.kind = OpKind::kHandoff, .host = user, .object = owner});
      insert(At(free));
      candidate.edit.removals.insert(free);
    }
    candidates_.push_back(std::move(candidate));
  }

  // The first position behind an operation, and behind the launch that it is part of.
  size_t BehindLaunchOf(size_t index) const {
    size_t behind = index + 1;
    if (finding_.first.launch_stream == 0) return behind;
    for (size_t i = behind; i < tape_.ops->size() && At(i).kind != OpKind::kGraphLaunch; ++i) {
      if (At(i).flags & kSynthetic) behind = i + 1;
    }
    return behind;
  }

  // Somebody else had got the storage by then: that one would have to wait too.
  bool HandedOut(size_t free, size_t until) const {
    const Access& range = *tape_.AccessesOf(At(free));
    for (size_t i = free + 1; i < until; ++i) {
      if (At(i).kind != OpKind::kAlloc && At(i).kind != OpKind::kAllocAsync) continue;
      const Access& other = *tape_.AccessesOf(At(i));
      if (other.begin < range.end && range.begin < other.end) return true;
    }
    return false;
  }

  // The allocation and its fill move up to before the record whose wait should have covered them.
  void Realloc() {
    Candidate candidate;
    candidate.fix = {FixKind::kReallocBeforeWait, "", "", finding_.buffer.name, ""};
    for (const Instance& instance : finding_.instances) {
      bool first_fills = At(instance.first_index).flags & kFill;
      size_t fill = first_fills ? instance.first_index : instance.second_index;
      size_t other = first_fills ? instance.second_index : instance.first_index;
      size_t alloc = AllocationOf(fill);
      const Join join = alloc == kNone ? Join{} : JoinBefore(alloc, At(other), At(fill));
      if (join.record == kNone) return;
      if (candidate.fix.text.empty()) {
        candidate.fix.text =
            fmt::format("allocate {} before the wait is recorded (op {}; op {} waits for that)",
                        finding_.buffer.name, At(join.record).id, At(join.wait).id);
      }
      for (size_t moved : {alloc, fill}) {
        candidate.edit.insertions.push_back({join.record, At(moved)});
        candidate.edit.removals.insert(moved);
      }
    }
    candidates_.push_back(std::move(candidate));
  }

  static constexpr size_t kNone = SIZE_MAX;

  size_t AllocationOf(size_t fill) const {
    uint64_t address = tape_.AccessesOf(At(fill))->begin;
    for (size_t i = fill; i-- > 0;) {
      if (At(i).kind == OpKind::kAlloc && tape_.AccessesOf(At(i))->begin == address) return i;
    }
    return kNone;
  }

  struct Join {
    size_t record = kNone, wait = kNone;
  };
  // The last wait of the consumer's stream before the allocation that a record on the filling
  // stream fed.
  Join JoinBefore(size_t alloc, const Op& consumer, const Op& fill) const {
    for (size_t i = alloc; i-- > 0;) {
      const Op& wait = At(i);
      if (wait.kind != OpKind::kStreamWaitEvent || wait.stream != consumer.stream) continue;
      for (size_t j = i; j-- > 0;) {
        const Op& record = At(j);
        if (record.kind != OpKind::kEventRecord || record.object != wait.object) continue;
        if (record.stream == fill.stream) return {j, i};
        break;
      }
    }
    return {};
  }

  const Finding& finding_;
  const Tape& tape_;
  EventId event_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Candidate> ProposeFixes(const Finding& finding, const Tape& tape,
                                    EventId first_free_event) {
  if (finding.instances.empty()) return {};
  return Proposer(finding, tape, first_free_event).Propose();
}

}  // namespace ss
