// Happens-before: lanes, clocks, streams, events, host threads (rules 1-6, 9; docs/semantics.md).
//
// A lane is anything that runs in order. Every unit of work on it has an epoch; a clock says, per
// lane, the last epoch whose completion is known. a happens-before b iff b's start clock knows a's
// epoch. Rejected: one clock object per operation (FastTrack's insight: the shadow needs only lane
// and epoch); a tree clock (few lanes here: a dense join of 8-64 words is faster than following the
// tree).
#pragma once

#include <bit>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/model/clock.h"
#include "src/model/cross.h"
#include "src/model/rules.h"
#include "src/program/op.h"

namespace ss {

// Who used an object before (rule 3): slots of Order, nearly always one or two. What ended threads
// knew is folded into one clock, or objects and clocks would grow with every thread that ever was.
struct UserSet {
  uint64_t last_news =
      0;  // of the last use, Order's count of what threads learned, and who it was:
  uint32_t last_user = 0;  // again the same, and there is nothing to acquire
  uint64_t low = 0;        // slots below 64, one bit each
  std::unique_ptr<Clock> gone;
  std::vector<uint32_t> high;  // slots from 64

  void Add(uint32_t host) {
    if (host >= 64) return AddHigh(host);
    low |= uint64_t{1} << host;
  }
  void AddHigh(uint32_t host);
  template <typename F>
  void ForEach(F f) const {
    for (uint64_t rest = low; rest != 0; rest &= rest - 1)
      f(static_cast<uint32_t>(std::countr_zero(rest)));
    for (uint32_t host : high) f(host);
  }
};

// Which streams the legacy stream does not order (rule 4). A graph's branches have the order of its
// launch alone.
inline bool ApartFromLegacy(StreamType type) {
  return type == StreamType::kGraph || type == StreamType::kContext ||
         (type == StreamType::kNonBlocking && RuleOn(Rule::kNonBlockingApart));
}

// Copy-on-write: a stream's clock is shared with the event snapshots that were taken from it.
struct Snapshot {
  std::shared_ptr<const Clock> base;
  LaneId lane = 0;
  uint64_t epoch = 0;  // of the lane that was recorded; `base` need not hold it

  uint64_t Get(LaneId of) const { return of == lane ? epoch : base->Get(of); }
};

struct Stream {
  StreamId id = 0;
  StreamType type{};
  uint64_t context = 0;  // context and rank: who shares a legacy stream
  struct Context* home = nullptr;
  uint32_t device = 0;
  uint32_t rank = 0;
  HostId thread = 0;  // per-thread streams: whose
  StringId name = 0;
  LaneId lane = 0;
  uint64_t epoch = 0;
  bool destroyed = false;
  std::shared_ptr<Clock> base = std::make_shared<Clock>();
  // What the stream has already joined, so that a repeated join costs one comparison.
  uint64_t joined_host_version = 0;
  uint64_t joined_legacy_version = 0;
  uint64_t joined_context_version = 0;
  uint64_t version = 1;  // grows with every change of epoch or base
  UserSet users;

  // The kernel that a programmatic launch directly behind it may overlap (rule 13); null: something
  // else came last. `start` does not hold the own lane: it is known up to `start_epoch`.
  struct Kernel {
    std::shared_ptr<const Clock> start;
    uint64_t start_epoch = 0;
    LaneId lane = 0;  // where it runs: the stream's lane, or one beside it
    uint64_t epoch = 0;
    // The kernel that it was launched behind: for the part of it that waits for that one.
    LaneId behind_lane = 0;
    uint64_t behind_epoch = 0;
    // What was over when it started, if that is more than `start`: kernels that let nobody start
    // early.
    std::shared_ptr<const Clock> ended;
    bool no_trigger = false;
  } last;
  // Of blocking copies from pageable memory: the calling thread reads the source, so one a thread.
  struct Staging {
    LaneId host = 0, lane = 0;
  };
  std::vector<Staging> staging;
  std::vector<Staging> in_call;  // the same, of copies that read their source out of order
  LaneId any_time = 0;           // where they do so beyond the call
  // Of the last batch of copies: what it starts after, own lane included; what its caller knew.
  std::unique_ptr<Clock> batch_start, batch_host;
  LaneId started = 0;  // counts the starts of kernels that something may hang on
  LaneId awaited = 0;  // counts the waits for values that several signals may end
  // Counts frees that did not cover all uses. Not the same lane: a programmatic launch may start
  // before what a free comes after.
  LaneId marks = 0;
  std::vector<LaneId>
      beside;  // lanes of programmatic launches, reused when the next one starts after
};

struct Event {
  bool recorded = false;
  Snapshot snapshot;
  StreamId producer = 0;  // stream of the last record
  size_t record_index = 0;
  UserSet users;
};

struct Host {
  HostId id = 0;
  uint32_t slot = 0;
  bool ended = false;
  StringId name = 0;
  uint32_t rank = 0;
  LaneId lane = 0;
  LaneId incidental = 0, incidental_cpu = 0;
  Clock clock;                 // includes the thread's own epoch
  uint64_t version = 0;        // changes with the clock; no two clocks ever share one
  uint64_t shown_version = 0;  // what Order::seen_ holds of it
  std::vector<uint64_t>
      taken;  // by slot of another thread: the version of its clock that this one holds
};

struct Lane {
  // kIncidental: where a thread counts its incidental synchronisations, apart from its CPU
  // accesses. kIncidentalCpu: the same again, for what they had of CPU accesses behind them.
  enum class Kind : uint8_t { kHost, kStream, kIncidental, kIncidentalCpu };
  Kind kind{};
  uint32_t host = 0;         // kHost: slot
  Stream* stream = nullptr;  // kStream
  uint64_t epoch = 0;        // last epoch given out; survives recycling

  // Counts something and runs nothing.
  bool Counts() const { return kind == Kind::kIncidental || kind == Kind::kIncidentalCpu; }
  // What any thread knows of it may count at another thread's free (rule 19).
  bool Shown() const { return kind != Kind::kHost && kind != Kind::kIncidentalCpu; }
};

// The streams that order implicitly (rule 4).
struct Context {
  Stream* legacy = nullptr;
  std::vector<Stream*> blocking;
  // Of type kContext, null until there is an event over the context. Its base is what the context
  // was made to wait for.
  Stream* whole = nullptr;
  Context* primary = nullptr;  // of a green context

  bool Includes(const Stream& stream) const;
};

// Where and when an operation runs. `start` is what is complete before it begins.
struct Step {
  LaneId lane = 0;
  // = lane where all that was on it before is over; 0: copies of a batch, and their sources, know
  // that of `start` alone.
  LaneId in_order = 0;
  uint64_t epoch = 0;        // of the whole operation; of a copy: its reading half
  uint64_t write_epoch = 0;  // of a copy: its writing half; else = epoch
  const Clock* start = nullptr;
  Stream* stream = nullptr;  // null: a host thread's own access
  // A blocking copy from pageable memory: the reading of the source, which the issuing thread knows
  // to be over when it returns, whatever it knows of the stream (rule 9). 0 = reads on `lane` like
  // the rest.
  LaneId staging_lane = 0;
  uint64_t staging_epoch = 0;
  // Where the source is read out of the stream's order (rule 9): what that starts after. null:
  // `start`.
  const Clock* source_start = nullptr;
  const Step* copy = nullptr;  // of Source() alone: the whole copy
  // A kernel with a launch event: whoever knows this knows all that the kernel started after. 0 =
  // none.
  LaneId started_lane = 0;
  uint64_t started_epoch = 0;
  // Of a programmatic launch, where it is more than `start`: what is over because no kernel before
  // it lets a dependent start early. No order to rely on (rule 13). null: nothing more.
  const Clock* ended = nullptr;

  bool Knows(LaneId of, uint64_t at) const { return of == in_order || start->Get(of) >= at; }
  // Of a copy whose source is read out of order: the reading alone.
  Step Source() const;
};

class Order {
 public:
  explicit Order(bool strict) : strict_(strict) {}

  // Applies an operation that orders or runs. Work gets a Step; anything else returns lane 0 /
  // epoch 0. `users` are the user sets of the buffers that the call uses (rule 3).
  Step Apply(const Op& op, size_t index, std::vector<UserSet*>& users, const Access* accesses);

  // After the last use of the step's `start`: what the call teaches the issuing thread (rule 9).
  void Finish(const Op& op, const Step& step, const Access* accesses);

  // The start clock that a next operation on the stream would have, legacy order included (rule
  // 19).
  void NextStart(StreamId stream, HostId host, Clock* clock);
  // Everything queued on the stream so far, and what it waited for.
  Clock Frontier(LaneId lane) const;
  void AddFrontier(StreamId stream, HostId host, Clock* clock);
  // What host thread `host` knows, plus, in default mode, what any thread saw of streams (rule 19).
  void KnownAtFree(HostId host, Clock* clock);
  Clock KnownAtFree(HostId host);
  // The same as questions, for the usual case that all uses are over or ordered.
  struct AtFree {
    const Clock* own = nullptr;
    const Clock* seen = nullptr;  // null: only what the thread itself knows
    bool Knows(LaneId lane, uint64_t epoch) const {
      return own->Get(lane) >= epoch || (seen != nullptr && seen->Get(lane) >= epoch);
    }
  };
  AtFree LookAtFree(HostId host);
  bool NextStartKnows(const Stream& stream, LaneId lane, uint64_t epoch) const;
  // Incidental device-wide synchronisation seen by `host` (cudaFree, rule 16).
  void AddIncidentalDeviceSync(HostId host, uint32_t device, uint32_t rank);
  // `clock` plus whatever `edges` and, if asked for, the incidental synchronisations add to it.
  void Expand(Clock* clock, const std::vector<ConditionalEdge>& edges, bool incidental) const;

  // A point between two operations of the stream: who comes to know of it knows of whatever a
  // ConditionalEdge hangs on it. Redundant waits are not told apart by it.
  std::pair<LaneId, uint64_t> Mark(StreamId stream, HostId host);
  Stream* FindStream(StreamId id, HostId host) {
    return id == last_found_ && id != 0 ? last_stream_ : LookUpStream(id, host);
  }
  const Event* FindEvent(EventId id) const;
  // Whether everything that the event's record covers was already known to the stream (redundant
  // wait). Valid right after Apply() of a wait.
  bool last_wait_redundant() const { return last_wait_redundant_; }
  bool last_wait_unrecorded() const { return last_wait_unrecorded_; }

  // A program with signals or ranks is walked several times: `before` is what the last walk saw.
  void Carry(const CrossClocks* before, CrossClocks* now) {
    before_ = before;
    now_ = now;
  }
  const CrossClocks* before() const { return before_; }
  // At the end of a walk: what the next one is to know of it besides clocks.
  void HandOn() {
    if (now_ != nullptr) now_->SetIncidental(std::move(incidental_));
  }
  // Every host thread that there is has seen it complete.
  bool AllKnow(LaneId lane, uint64_t epoch) const;
  bool last_await_never() const { return last_await_never_; }

  Host& host(HostId id) { return EnsureHost(id); }
  const std::vector<Lane>& lanes() const { return lanes_; }
  size_t host_count() const { return hosts_.size(); }
  // Also of threads that have ended.
  StringId HostName(HostId id) const { return id < host_infos_.size() ? host_infos_[id].name : 0; }
  uint32_t HostRank(HostId id) const { return id < host_infos_.size() ? host_infos_[id].rank : 0; }
  bool strict() const { return strict_; }

  // Lanes that nothing refers to any more may be given out again; `live[l]` = still referred to.
  void RecycleLanes(const std::vector<bool>& live);
  void MarkConditional(std::vector<bool>* live) const;
  // Threads that ended and whose lanes nothing refers to leave only what they knew, in the user
  // sets: `buffers` are those that the caller owns.
  void ForgetEndedHosts(const std::vector<bool>& live, const std::vector<UserSet*>& buffers);
  bool AnyHostEnded() const { return ended_hosts_ != 0; }

 private:
  LaneId NewLane(Lane::Kind kind);
  Host& EnsureHost(HostId id);
  Host& MakeHost(HostId id);
  void BeginHost(const Op& op);
  void Changed(Host& host) { host.version = versions_[host.slot] = ++news_; }
  void LearnFrom(Host& other, Host& host);
  void LearnFromOtherRanks(Host& host);
  void Show(Host& host);
  void RaiseShown(const Clock& from, Clock* to) const;
  void Fold(UserSet& users, const std::vector<bool>& ended);
  void Retire(Stream* stream);
  void Learn(Host& host, const Snapshot& snapshot);
  void LearnStream(Host& host, const Stream& stream);
  void JoinInto(Stream& stream, const Clock& clock);
  void JoinInto(Stream& stream, const Stream& other);
  void Prepare(Stream& stream, Host& host);
  void JoinImplicit(Stream& stream);
  void JoinContext(Stream& stream);
  // The contexts' parts of what the stream waits for (rule 15). A graph's branches have the order
  // of its launch.
  template <typename F>
  static void ForEachWait(const Stream& stream, F f) {
    if (stream.type == StreamType::kGraph || !RuleOn(Rule::kContextWait)) return;
    const Context* home = stream.home;
    const Context* primary = home->primary;
    for (const Context* context : {home, primary}) {
      if (context == nullptr || context->whole == nullptr || context->whole == &stream) continue;
      f(*context->whole);
    }
  }
  void RecordContext(const Stream& whole, const Host& host, Snapshot* snapshot) const;
  void AddImplicit(const Stream& stream, Clock* clock) const;
  void WithImplicit(const Stream& stream, Clock* clock) const;
  void Stage(const Op& op, const Access* accesses, Stream& stream, const Host& host, Step* step);
  static bool SameBatch(const Op& op, const Stream& stream);
  static void BeginBatch(Stream& stream, const Host& host);
  void ReadApart(const Op& op, Stream& stream, const Host& host, Step* step);
  LaneId StagingLane(Stream& stream, std::vector<Stream::Staging>* lanes, const Host& host);
  uint64_t Count(Stream& stream, LaneId* lane);
  void Create(const Op& op);
  void Destroy(const Op& op);
  Context* HomeOf(const Op& op);
  Stream* MakeStream(const Op& op, HostId thread);
  void Place(Stream& stream, const Op& op);
  Stream* LookUpStream(StreamId id, HostId host);
  static uint64_t StreamKey(StreamId id, bool per_thread, HostId host) {
    return per_thread ? id | (uint64_t{host} + 1) << 32 : id;
  }
  void HandOver(const Op& op, std::vector<UserSet*>& users);
  void HandOverToBatch(const Op& op, const std::vector<UserSet*>& users, const Host& host);
  void Use(UserSet& users, Host& host);
  void Record(const Op& op, size_t index, Host& host);
  void Wait(const Op& op, Host& host);
  void Sync(const Op& op, Host& host);
  void SyncDevice(const Op& op, Host& host);
  Step Work(const Op& op, size_t index, Host& host, const Access* accesses);
  Step ProgrammaticWork(const Op& op, Stream& stream, Host& host);
  static std::shared_ptr<const Clock> EndedBefore(const Stream::Kernel& before, const Clock& start,
                                                  bool waits_for_trigger);
  LaneId LaneBeside(Stream& stream, const Clock& start);
  void RecordAtStart(const Op& op, Stream& stream, Step* step);
  void Cross(const Op& op, size_t index, Stream& stream, Step& step);
  Step HostWork(Host& host);
  void AddIncidental(Host& host, Clock source);
  void AddIncidentalEdge(Host& host, LaneId lane, Clock source);
  void AddIncidentalEdge(LaneId lane, uint64_t epoch, Clock source);
  Clock Awaited(size_t index, Stream& stream);
  void DropOldestIncidental();
  bool Redundant(const Stream& stream, const Snapshot& snapshot) const;
  void EndSync(const Op& op, Host& host);
  void LearnOrDefer(const Op& op, Host& host, const Snapshot& snapshot);
  Step InsideHostFunction(const Op& op);
  void ReleaseTag(const Op& op, Host& host);
  void AcquireTag(const Op& op, Host& host);
  Snapshot Take(Stream& stream) const;

  bool strict_;
  bool last_wait_redundant_ = false;
  bool last_wait_unrecorded_ = false;
  bool last_await_never_ = false;
  const CrossClocks* before_ = nullptr;
  CrossClocks* now_ = nullptr;
  std::shared_ptr<Clock> kept_start_;  // of the last step, where its stream has moved on
  std::vector<Lane> lanes_;
  std::vector<LaneId> free_lanes_, retired_lanes_;
  std::vector<std::unique_ptr<Host>> hosts_;  // by slot; null = free
  std::vector<uint64_t> versions_;            // by slot, the hosts' own: side by side for Use()
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  std::vector<uint32_t> slots_;  // by HostId
  struct HostInfo {
    StringId name = 0;
    uint32_t rank = 0;
  };
  std::vector<HostInfo> host_infos_;  // by HostId
  size_t ended_hosts_ = 0;
  uint64_t news_ = 0;  // how often any thread learned anything
  uint64_t shown_news_ = 0;
  std::unordered_map<uint32_t, Clock> seen_;  // by rank: streams' work that any thread saw complete
  std::unordered_map<uint64_t, std::unique_ptr<Stream>>
      streams_;              // by id, per-thread: id | (thread + 1) << 32
  StreamId last_found_ = 0;  // a stream is looked up several times an operation
  Stream* last_stream_ = nullptr;
  std::unordered_map<StreamId, Op> templates_;      // creation of per-thread streams
  std::unordered_map<StreamId, Stream*> aliases_;   // further names of one lane (legacy)
  std::unordered_map<uint64_t, Context> contexts_;  // nodes stay where they are: Stream::home
  std::unordered_map<EventId, Event> events_;
  IncidentalEdges incidental_;
  std::deque<LaneId> incidental_lanes_;    // of all of them, oldest first
  std::unordered_map<OpId, Clock> syncs_;  // begun and not ended (kSyncBegin): what they wait for
  std::unordered_map<uint32_t, Clock> tags_;
  struct HostFunction {
    OpId op = 0;
    std::shared_ptr<const Clock> base;
    Stream* stream = nullptr;
    uint64_t epoch = 0;
  };
  std::vector<HostFunction> host_functions_;  // ring: accesses inside come after the call
  size_t next_host_function_ = 0;
};

}  // namespace ss
