#include "src/model/order.h"

#include <algorithm>

#include "src/model/rules.h"

namespace ss {
namespace {

// Host functions whose accesses may still come.
constexpr size_t kMaxHostFunctions = 1024;

bool OnHost(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kPageable;
}

}  // namespace

LaneId Order::NewLane(Lane::Kind kind) {
  if (lanes_.empty()) lanes_.emplace_back();  // lane 0 means "no lane"
  LaneId lane;
  if (!free_lanes_.empty()) {
    lane = free_lanes_.back();
    free_lanes_.pop_back();
    lanes_[lane].stream = nullptr;
  } else {
    lane = static_cast<LaneId>(lanes_.size());
    lanes_.emplace_back();
  }
  lanes_[lane].kind = kind;
  return lane;
}

Host& Order::EnsureHost(HostId id) {
  if (id < slots_.size() && slots_[id] != kNoSlot) return *hosts_[slots_[id]];
  return MakeHost(id);
}

Host& Order::MakeHost(HostId id) {
  if (id >= slots_.size()) slots_.resize(id + 1, kNoSlot);
  if (id >= host_infos_.size()) host_infos_.resize(id + 1);
  size_t slot = std::find(hosts_.begin(), hosts_.end(), nullptr) - hosts_.begin();
  if (slot == hosts_.size()) {
    hosts_.emplace_back();
    versions_.emplace_back();
  }
  hosts_[slot] = std::make_unique<Host>();
  Host& host = *hosts_[slot];
  host.id = id;
  host.slot = slots_[id] = static_cast<uint32_t>(slot);
  host.lane = NewLane(Lane::Kind::kHost);
  lanes_[host.lane].host = host.slot;
  Changed(host);
  return host;
}

// Comes again, for a rename; and for another thread with the id of one that ended, which knows
// nothing.
void Order::BeginHost(const Op& op) {
  Host& known = EnsureHost(op.host);
  Host& host = known.ended ? MakeHost(op.host) : known;
  host.name = op.name;
  host.rank = op.aux;
  host_infos_[op.host] = {op.name, op.aux};
}

// --- knowledge
// ------------------------------------------------------------------------------------

void Order::JoinInto(Stream& stream, const Clock& clock) {
  if (stream.base->CoversBut(stream.lane, clock)) return;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Join(clock);
  ++stream.version;
}

void Order::JoinInto(Stream& stream, const Stream& other) {
  if (&stream == &other) return;
  JoinInto(stream, *other.base);
  if (stream.base->Get(other.lane) >= other.epoch) return;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(other.lane, other.epoch);
  ++stream.version;
}

Snapshot Order::Take(Stream& stream) const { return {stream.base, stream.lane, stream.epoch}; }

void Order::Learn(Host& host, const Snapshot& snapshot) {
  bool news = !host.clock.Covers(*snapshot.base) || host.clock.Get(snapshot.lane) < snapshot.epoch;
  if (!news) return;
  host.clock.Join(*snapshot.base);
  host.clock.Raise(snapshot.lane, snapshot.epoch);
  Changed(host);
}

void Order::LearnStream(Host& host, const Stream& stream) {
  Learn(host, {stream.base, stream.lane, stream.epoch});
}

// Rule 4. A destroyed stream has handed its work over in Destroy().
void Order::JoinImplicit(Stream& stream) {
  JoinContext(stream);
  if (ApartFromLegacy(stream.type)) return;
  Context& context = *stream.home;
  if (stream.type == StreamType::kLegacy) {
    if (!RuleOn(Rule::kLegacyWaitsBlocking)) return;
    for (Stream* blocking : context.blocking) JoinInto(stream, *blocking);
    return;
  }
  if (context.legacy == nullptr || !RuleOn(Rule::kBlockingWaitsLegacy)) return;
  if (stream.joined_legacy_version == context.legacy->version) return;
  JoinInto(stream, *context.legacy);
  stream.joined_legacy_version = context.legacy->version;
}

// Everything that any next operation on the stream, issued by `host`, starts after.
void Order::Prepare(Stream& stream, Host& host) {
  JoinImplicit(stream);
  if (stream.joined_host_version == host.version) return;
  if (RuleOn(Rule::kHostKnowledge)) JoinInto(stream, host.clock);
  stream.joined_host_version = host.version;
}

// --- dispatch
// -------------------------------------------------------------------------------------

Step Order::Apply(const Op& op, size_t index, std::vector<UserSet*>& users,
                  const Access* accesses) {
  Host& host = EnsureHost(op.host);
  HandOver(op, users);
  last_wait_redundant_ = last_wait_unrecorded_ = last_await_never_ = false;
  switch (op.kind) {
    case OpKind::kKernel:
    case OpKind::kCopy:
    case OpKind::kMemset:
    case OpKind::kHostFn:
    case OpKind::kAllocAsync:
    case OpKind::kFreeAsync:
    case OpKind::kCollective:
    case OpKind::kSignal:
    case OpKind::kAwait:
      return Work(op, index, host, accesses);
    case OpKind::kHostAccess: {
      const Step step = op.aux == 1 ? InsideHostFunction(op) : HostWork(host);
      if (now_ != nullptr && step.start != nullptr) now_->AddStart(index, *step.start);
      return step;
    }
    case OpKind::kEventRecord:
      Record(op, index, host);
      break;
    case OpKind::kStreamWaitEvent:
      Wait(op, host);
      break;
    case OpKind::kStreamSync:
    case OpKind::kEventSync:
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
      Sync(op, host);
      break;
    case OpKind::kDeviceSync:
      SyncDevice(op, host);
      break;
    case OpKind::kFree:  // a use that another rank issues further down may come before it
      if (now_ != nullptr) now_->AddStart(index, KnownAtFree(op.host));
      break;
    case OpKind::kHandoff:
      if (RuleOn(Rule::kHandOff)) {
        Host& to = EnsureHost(static_cast<HostId>(op.object));
        to.clock.Join(EnsureHost(op.host).clock);
        Changed(to);
      }
      break;
    case OpKind::kHostBegin:
      BeginHost(op);
      break;
    case OpKind::kHostEnd:
      ended_hosts_ += !host.ended;
      host.ended = true;
      break;
    case OpKind::kStreamCreate:
      Create(op);
      break;
    case OpKind::kStreamDestroy:
      Destroy(op);
      break;
    case OpKind::kEventDestroy:
      events_.erase(op.object);
      break;
    case OpKind::kSyncEnd:
      EndSync(op, host);
      break;
    case OpKind::kTagRelease:
      ReleaseTag(op, host);
      break;
    case OpKind::kTagAcquire:
      AcquireTag(op, host);
      break;
    default:
      break;
  }
  return {};
}

Step Order::Work(const Op& op, size_t index, Host& host, const Access* accesses) {
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr) return {};
  bool programmatic =
      (op.flags & kPdl) && stream->last.start != nullptr && RuleOn(Rule::kProgrammatic);
  if (programmatic) {
    const Step step = ProgrammaticWork(op, *stream, host);
    if (now_ != nullptr) now_->AddStart(index, *step.start);
    return step;
  }
  const bool same_batch = SameBatch(op, *stream);
  if (!same_batch) Prepare(*stream, host);
  if (op.flags & kBatchBegin) BeginBatch(*stream, host);
  uint64_t before = stream->epoch;
  Step step{.lane = stream->lane,
            .in_order = stream->lane,
            .start = stream->base.get(),
            .stream = stream};
  step.epoch = step.write_epoch = ++stream->epoch;
  if (op.kind == OpKind::kCopy) step.write_epoch = ++stream->epoch;
  if (same_batch) {
    step.in_order = 0;
    step.start = stream->batch_start.get();
  }
  if (op.kind == OpKind::kCopy) Stage(op, accesses, *stream, host, &step);
  lanes_[stream->lane].epoch = stream->epoch;
  ++stream->version;
  stream->last = {};
  if (op.kind == OpKind::kKernel) {
    stream->last = {.start = stream->base,
                    .start_epoch = before,
                    .lane = step.lane,
                    .epoch = step.epoch,
                    .no_trigger = (op.flags & kNoTrigger) != 0};
  }
  if (op.flags & kLaunchEvent) RecordAtStart(op, *stream, &step);
  if (now_ != nullptr) Cross(op, index, *stream, step);
  if (op.kind == OpKind::kHostFn) {
    if (host_functions_.size() < kMaxHostFunctions) host_functions_.emplace_back();
    host_functions_[next_host_function_++ % kMaxHostFunctions] = {op.id, stream->base, stream,
                                                                  step.epoch};
  }
  return step;
}

bool Order::SameBatch(const Op& op, const Stream& stream) {
  const bool begun = (op.flags & kSameBatch) != 0 && stream.batch_start != nullptr;
  return begun && RuleOn(Rule::kBatchUnordered);
}

// Further copies start with the first one: of each other they know nothing.
void Order::BeginBatch(Stream& stream, const Host& host) {
  stream.batch_start = std::make_unique<Clock>(*stream.base);
  stream.batch_start->Raise(stream.lane, stream.epoch);
  stream.batch_host = std::make_unique<Clock>(host.clock);
}

// The asynchronous form may read its source as late as the stream gets there (rule 9: that it does
// not is incidental).
void Order::Stage(const Op& op, const Access* accesses, Stream& stream, const Host& host,
                  Step* step) {
  if ((op.flags & kSourceApart) && RuleOn(Rule::kSourceOrder)) {
    return ReadApart(op, stream, host, step);
  }
  bool staged = (op.flags & kBlocking) && op.access_count >= 2 &&
                accesses[0].memory == MemoryKind::kPageable && !OnHost(accesses[1].memory);
  if (!staged) return;
  step->staging_lane = StagingLane(stream, &stream.staging, host);
  step->staging_epoch = ++lanes_[step->staging_lane].epoch;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(step->staging_lane, step->staging_epoch);
  step->start = stream.base.get();
}

// The source is read at any time from the call on, whatever the stream still has before it: what
// the calling thread knows is over, and that alone.
void Order::ReadApart(const Op& op, Stream& stream, const Host& host, Step* step) {
  if (op.flags & kSourceInCall) {
    step->staging_lane = StagingLane(stream, &stream.in_call, host);
  } else {
    if (stream.any_time == 0) stream.any_time = NewLane(Lane::Kind::kStream);
    lanes_[stream.any_time].stream = &stream;
    step->staging_lane = stream.any_time;
  }
  step->staging_epoch = ++lanes_[step->staging_lane].epoch;
  const bool same_batch = SameBatch(op, stream);
  step->source_start = same_batch ? stream.batch_host.get() : &host.clock;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(step->staging_lane, step->staging_epoch);
  if (!same_batch) step->start = stream.base.get();
}

LaneId Order::StagingLane(Stream& stream, std::vector<Stream::Staging>* lanes, const Host& host) {
  for (const Stream::Staging& staging : *lanes) {
    if (staging.host == host.lane) return staging.lane;
  }
  LaneId lane = NewLane(Lane::Kind::kStream);
  lanes_[lane].stream = &stream;
  lanes->push_back({host.lane, lane});
  return lane;
}

Step Step::Source() const {
  return {.lane = staging_lane,
          .epoch = staging_epoch,
          .write_epoch = staging_epoch,
          .start = source_start,
          .staging_lane = staging_lane,
          .staging_epoch = staging_epoch,
          .copy = this};
}

// The walk remembers the starts of all work (an operation may have known of one that was issued
// later), and what a signal or another rank released in the walk before joins the stream behind the
// operation.
void Order::Cross(const Op& op, size_t index, Stream& stream, Step& step) {
  Clock start = *step.start;
  if (step.in_order != 0) start.Raise(step.lane, step.epoch - 1);
  now_->AddStart(index, start);
  if (step.source_start != nullptr) now_->AddSourceStart(index, *step.source_start);
  bool point =
      op.kind == OpKind::kSignal || op.kind == OpKind::kAwait || op.kind == OpKind::kCollective;
  if (!point) return;
  if (op.kind == OpKind::kCollective) {  // its start alone is what other ranks learn of
    step.started_epoch = Count(stream, &stream.started);
    step.started_lane = stream.started;
    start.Raise(step.started_lane, step.started_epoch);
  }
  now_->Add({op, index, stream.rank, step.lane, step.epoch, std::move(start)});
  Clock gained;
  if (op.kind == OpKind::kAwait && RuleOn(Rule::kAwaitAcquires)) gained = Awaited(index, stream);
  if (before_ != nullptr && op.kind == OpKind::kCollective && RuleOn(Rule::kCollectiveJoins))
    gained = before_->Received(index);
  // Who knows its end knows its start, also of two ends of which one is known (Awaited()).
  gained.Raise(step.started_lane, step.started_epoch);
  if (gained.size() == 0) return;
  // Into a fresh base: the step's start must not gain what only its completion has.
  kept_start_ = stream.base;
  stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Join(gained);
  ++stream.version;
}

uint64_t Order::Count(Stream& stream, LaneId* lane) {
  if (*lane == 0) {
    *lane = NewLane(Lane::Kind::kIncidental);
    lanes_[*lane].stream = &stream;
  }
  return ++lanes_[*lane].epoch;
}

std::pair<LaneId, uint64_t> Order::Mark(StreamId id, HostId host) {
  Stream* stream = FindStream(id, host);
  if (stream == nullptr) return {0, 0};
  uint64_t epoch = Count(*stream, &stream->marks);
  if (stream->base.use_count() > 1) stream->base = std::make_shared<Clock>(*stream->base);
  stream->base->Raise(stream->marks, epoch);
  ++stream->version;
  return {stream->marks, epoch};
}

Step Order::HostWork(Host& host) {
  uint64_t epoch = ++lanes_[host.lane].epoch;
  host.clock.Raise(host.lane, epoch);
  Changed(host);
  return {.lane = host.lane,
          .in_order = host.lane,
          .epoch = epoch,
          .write_epoch = epoch,
          .start = &host.clock};
}

void Order::Record(const Op& op, size_t index, Host& host) {
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr) return;
  const bool whole = stream->type == StreamType::kContext;
  if (!whole) Prepare(*stream, host);
  stream->last = {};
  Event& event = events_[op.object];
  if (event.recorded && !RuleOn(Rule::kLatestRecord)) return;
  event.recorded = true;
  event.snapshot = Take(*stream);
  if (whole) RecordContext(*stream, host, &event.snapshot);
  event.producer = op.stream;
  event.record_index = index;
}

void Order::Wait(const Op& op, Host& host) {
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr) return;
  Event& event = events_[op.object];
  last_wait_unrecorded_ = !event.recorded;
  if (!event.recorded) return;  // no barrier either, not even on the legacy stream (probed)
  stream->last = {};
  Prepare(*stream, host);
  if (!RuleOn(Rule::kRecordSnapshot)) {
    if (Stream* producer = FindStream(event.producer, op.host)) event.snapshot = Take(*producer);
  }
  if (!RuleOn(Rule::kWaitCrossesDevices)) {
    Stream* producer = FindStream(event.producer, op.host);
    if (producer != nullptr && producer->device != stream->device) return;
  }
  const Snapshot& snapshot = event.snapshot;
  bool own = snapshot.lane == stream->lane;
  last_wait_redundant_ = Redundant(*stream, snapshot);
  JoinInto(*stream, *snapshot.base);
  if (own || stream->base->Get(snapshot.lane) >= snapshot.epoch) return;
  if (stream->base.use_count() > 1) stream->base = std::make_shared<Clock>(*stream->base);
  stream->base->Raise(snapshot.lane, snapshot.epoch);
  ++stream->version;
}

// What incidental synchronisations a thread had behind it is nothing that a wait is for.
bool Order::Redundant(const Stream& stream, const Snapshot& snapshot) const {
  for (LaneId lane = 1; lane < lanes_.size(); ++lane) {
    bool counts = lane != stream.lane && !lanes_[lane].Counts();
    if (counts && snapshot.Get(lane) > stream.base->Get(lane)) return false;
  }
  return true;
}

// Rule 6. A query inside an allocator orders that allocator's own blocks only, and those are judged
// by the allocator's rules (18), so it teaches nothing here.
void Order::Sync(const Op& op, Host& host) {
  bool query = op.kind == OpKind::kStreamQuery || op.kind == OpKind::kEventQuery;
  if (query && (op.flags & kNotReady) && RuleOn(Rule::kNotReadyNothing)) return;
  if (query && (op.flags & kAllocatorInternal)) return;
  if (!RuleOn(query ? Rule::kQueryAcquires : Rule::kSyncAcquires)) return;
  if (op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery) {
    Event& event = events_[op.object];
    last_wait_unrecorded_ = !event.recorded;
    if (event.recorded) LearnOrDefer(op, host, event.snapshot);
    return;
  }
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr) return;
  if (stream->type == StreamType::kLegacy && RuleOn(Rule::kLegacySyncsBlocking)) {
    auto covered = std::make_shared<Clock>();
    WithImplicit(*stream, covered.get());
    return LearnOrDefer(op, host, {covered, stream->lane, stream->epoch});
  }
  LearnOrDefer(op, host, Take(*stream));
}

// Another thread's calls lie between this call and its return: it knows only then.
void Order::LearnOrDefer(const Op& op, Host& host, const Snapshot& snapshot) {
  if (!(op.flags & kSyncBegin)) return Learn(host, snapshot);
  Clock& clock = syncs_[op.id];
  clock.Join(*snapshot.base);
  clock.Raise(snapshot.lane, snapshot.epoch);
}

void Order::EndSync(const Op& op, Host& host) {
  auto begun = syncs_.find(op.value);
  if (begun == syncs_.end()) return;
  host.clock.Join(begun->second);
  Changed(host);
  syncs_.erase(begun);
}

void Order::ReleaseTag(const Op& op, Host& host) { tags_[op.object].Join(host.clock); }

void Order::AcquireTag(const Op& op, Host& host) {
  auto tag = tags_.find(op.object);
  if (tag == tags_.end()) return;
  host.clock.Join(tag->second);
  Changed(host);
}

// The function runs in its stream's order, whatever the host thread knew when the access was seen.
Step Order::InsideHostFunction(const Op& op) {
  const HostFunction* latest = nullptr;  // a graph runs it once a launch
  for (const HostFunction& function : host_functions_) {
    const bool later = latest == nullptr || function.epoch > latest->epoch;
    if (function.op == op.value && later) latest = &function;
  }
  if (latest == nullptr) return {};
  return {.lane = latest->stream->lane,
          .in_order = latest->stream->lane,
          .epoch = latest->epoch,
          .write_epoch = latest->epoch,
          .start = latest->base.get(),
          .stream = latest->stream};
}

void Order::SyncDevice(const Op& op, Host& host) {
  if (!RuleOn(Rule::kSyncAcquires)) return;
  for (auto& [key, stream] : streams_) {
    bool device = stream->device == op.aux || !RuleOn(Rule::kDeviceSyncOneDevice);
    auto home = contexts_.find((op.object - 1) | op.value << 16);
    bool context = op.object == 0 || (home != contexts_.end() && home->second.Includes(*stream));
    if (device && context && stream->rank == op.value) LearnOrDefer(op, host, Take(*stream));
  }
}

void Order::Finish(const Op& op, const Step& step, const Access* accesses) {
  if (step.stream == nullptr || op.access_count == 0) return;
  Host& host = EnsureHost(op.host);
  bool blocking = op.flags & kBlocking;
  auto upto = [&](uint64_t epoch) {
    // Of a batch: the call waits for all of it.
    const bool batch = step.source_start != nullptr || (op.flags & kSameBatch) != 0;
    Clock clock = batch ? *step.stream->base : *step.start;
    clock.Raise(step.lane, epoch);
    return clock;
  };
  auto learn = [&](uint64_t epoch) {
    if (op.flags & kSyncBegin) {
      syncs_[op.id].Join(upto(epoch));
      return;
    }
    host.clock.Join(upto(epoch));
    Changed(host);
  };
  if (op.kind == OpKind::kMemset) {
    MemoryKind kind = accesses[0].memory;
    bool waits = OnHost(kind) || kind == MemoryKind::kManaged;
    if (!RuleOn(Rule::kMemsetHostSync)) waits = !waits;
    if (blocking && waits) learn(step.epoch);
    return;
  }
  if (op.kind != OpKind::kCopy || op.access_count < 2) return;
  MemoryKind from = accesses[0].memory, to = accesses[1].memory;
  const bool apart = step.source_start != nullptr;
  if (apart && (op.flags & kSourceInCall) != 0) {
    host.clock.Raise(step.staging_lane, step.staging_epoch);
    Changed(host);
  }
  // Read out of order, a source says nothing of the stream.
  bool pageable = (from == MemoryKind::kPageable && !apart) || to == MemoryKind::kPageable;
  if (OnHost(from) && OnHost(to) && !apart) {
    if (RuleOn(Rule::kHostToHostSync)) learn(step.write_epoch);
  } else if (!OnHost(from) && !OnHost(to)) {
    if (!RuleOn(Rule::kDeviceToDeviceAsync) && blocking) learn(step.write_epoch);
  } else if (blocking) {
    if (!RuleOn(Rule::kBlockingCopySyncs)) return;
    if (from != MemoryKind::kPageable || !RuleOn(Rule::kPageableInFlight))
      return learn(step.write_epoch);
    // The source is taken; that the stream's earlier work is over too is the staging's doing
    // (incidental).
    host.clock.Raise(step.staging_lane, step.staging_epoch);
    Changed(host);
    AddIncidental(host, upto(step.epoch));
  } else if (pageable) {
    uint64_t epoch = from == MemoryKind::kPageable && !apart ? step.epoch : step.write_epoch;
    if (RuleOn(Rule::kPageableIncidental)) {
      AddIncidental(host, upto(epoch));
    } else {
      learn(epoch);
    }
  } else if (!RuleOn(Rule::kPinnedCopyAsync)) {
    learn(step.write_epoch);
  }
}

}  // namespace ss
