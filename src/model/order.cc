#include "src/model/order.h"

#include <algorithm>

#include "src/model/rules.h"

namespace ss {
namespace {

uint64_t StreamKey(StreamId id, bool per_thread, HostId host) {
  return per_thread ? id | (uint64_t{host} + 1) << 32 : id;
}

// Beyond this many incidental synchronisations the oldest go: they can only turn a hazard into
// advice.
constexpr size_t kMaxIncidental = 4096;
// Host functions whose accesses may still come.
constexpr size_t kMaxHostFunctions = 1024;

bool OnHost(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kPageable;
}

}  // namespace

bool UserSet::Add(HostId host) {
  auto at = std::lower_bound(hosts.begin(), hosts.end(), host);
  if (at != hosts.end() && *at == host) return false;
  hosts.insert(at, host);
  return true;
}

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
  if (id >= hosts_.size()) hosts_.resize(id + 1);
  if (!hosts_[id]) {
    hosts_[id] = std::make_unique<Host>();
    hosts_[id]->id = id;
    hosts_[id]->lane = NewLane(Lane::Kind::kHost);
    lanes_[hosts_[id]->lane].host = id;
  }
  return *hosts_[id];
}

// --- streams
// --------------------------------------------------------------------------------------

Stream* Order::MakeStream(const Op& op, HostId thread) {
  auto stream = std::make_unique<Stream>();
  stream->id = op.stream;
  stream->type = static_cast<StreamType>(op.aux);
  stream->context = op.value >> 16;
  stream->device = static_cast<uint32_t>(op.value & 0xffff);
  stream->rank = static_cast<uint32_t>(op.value >> 32);
  stream->name = op.name;
  stream->thread = thread;
  stream->lane = NewLane(Lane::Kind::kStream);
  stream->epoch = lanes_[stream->lane].epoch;
  lanes_[stream->lane].stream = stream.get();
  lanes_[stream->lane].host = thread;
  bool per_thread = stream->type == StreamType::kPerThread;
  Stream* raw = stream.get();
  streams_[StreamKey(op.stream, per_thread, thread)] = std::move(stream);
  return raw;
}

// One legacy stream a context: a second declaration is another name for the same lane.
void Order::Create(const Op& op) {
  auto type = static_cast<StreamType>(op.aux);
  if (Stream* known = type == StreamType::kPerThread ? nullptr : FindStream(op.stream, op.host)) {
    known->name = op.name;  // renamed by an annotation
    return;
  }
  if (type == StreamType::kPerThread) {
    templates_[op.stream] = op;
    for (auto& [key, stream] : streams_) {
      if (stream->id == op.stream) stream->name = op.name;
    }
    return;
  }
  Context& context = contexts_[op.value >> 16];
  if (type == StreamType::kLegacy && context.legacy != nullptr) {
    aliases_[op.stream] = context.legacy;
    return;
  }
  if (!RuleOn(Rule::kStreamGeneration)) {
    for (auto& [key, old] : streams_) {
      if (old->name != op.name || old->context != op.value >> 16) continue;
      aliases_[op.stream] = old.get();
      return;
    }
  }
  Stream* stream = MakeStream(op, 0);
  if (type == StreamType::kBlocking) context.blocking.push_back(stream);
  if (!RuleOn(Rule::kNonBlockingApart) && type == StreamType::kNonBlocking) {
    context.blocking.push_back(stream);
  }
  if (type == StreamType::kLegacy) context.legacy = stream;
}

Stream* Order::FindStream(StreamId id, HostId host) {
  if (auto found = streams_.find(id); found != streams_.end()) return found->second.get();
  if (auto found = aliases_.find(id); found != aliases_.end()) return found->second;
  auto made = templates_.find(id);
  if (made == templates_.end()) return nullptr;
  if (!RuleOn(Rule::kPerThreadLane)) host = 0;
  if (auto found = streams_.find(StreamKey(id, true, host)); found != streams_.end()) {
    return found->second.get();
  }
  Stream* stream = MakeStream(made->second, host);
  contexts_[stream->context].blocking.push_back(stream);
  return stream;
}

void Order::Destroy(const Op& op) {
  auto found = streams_.find(op.stream);
  if (found == streams_.end()) return;
  Stream* stream = found->second.get();
  if (!RuleOn(Rule::kStreamGeneration)) return;
  stream->destroyed = true;
  auto& blocking = contexts_[stream->context].blocking;
  // What a blocking stream did is still waited for by the legacy stream's next operation.
  if (Stream* legacy = contexts_[stream->context].legacy;
      legacy != nullptr && std::find(blocking.begin(), blocking.end(), stream) != blocking.end()) {
    JoinInto(*legacy, *stream);
  }
  std::erase(blocking, stream);
  retired_lanes_.push_back(stream->lane);
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
  ++host.version;
}

void Order::LearnStream(Host& host, const Stream& stream) {
  Learn(host, {stream.base, stream.lane, stream.epoch});
}

// Rule 4. A destroyed stream has handed its work over in Destroy().
void Order::JoinImplicit(Stream& stream) {
  if (stream.type == StreamType::kNonBlocking && RuleOn(Rule::kNonBlockingApart)) return;
  Context& context = contexts_[stream.context];
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
  if (stream.joined_host == host.id && stream.joined_host_version == host.version) return;
  if (RuleOn(Rule::kHostKnowledge)) JoinInto(stream, host.clock);
  stream.joined_host = host.id;
  stream.joined_host_version = host.version;
}

// --- hand-over between host threads (rule 3)
// ------------------------------------------------------

void Order::Use(UserSet& users, Host& host) {
  for (HostId other : users.hosts) {
    if (other == host.id || EnsureHost(other).rank != host.rank) continue;
    const Clock& theirs = EnsureHost(other).clock;
    if (host.clock.Covers(theirs)) continue;
    host.clock.Join(theirs);
    ++host.version;
  }
  users.Add(host.id);
}

// Creation, allocation and plain CPU accesses neither give nor take.
void Order::HandOver(const Op& op, std::vector<UserSet*>& users) {
  if (strict_ || !RuleOn(Rule::kHandOver)) return;
  switch (op.kind) {
    case OpKind::kHostAccess:
    case OpKind::kAlloc:
    case OpKind::kHostBegin:
    case OpKind::kStreamCreate:
    case OpKind::kStreamDestroy:
    case OpKind::kEventDestroy:
    case OpKind::kHandoff:
    case OpKind::kDeviceSync:
    case OpKind::kSyncEnd:
    case OpKind::kTagRelease:
    case OpKind::kTagAcquire:
    case OpKind::kHostEnd:
    case OpKind::kBufferName:
      return;
    default:
      break;
  }
  Host& host = EnsureHost(op.host);
  bool on_event = op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent ||
                  op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery;
  if (on_event) Use(events_[op.object].users, host);
  if (op.kind != OpKind::kFree && op.stream != 0) {
    if (Stream* stream = FindStream(op.stream, op.host)) Use(stream->users, host);
  }
  for (UserSet* buffer : users) Use(*buffer, host);
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
    case OpKind::kHostAccess:
      return op.aux == 1 ? InsideHostFunction(op) : HostWork(host);
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
    case OpKind::kHandoff:
      if (RuleOn(Rule::kHandOff)) {
        Host& to = EnsureHost(static_cast<HostId>(op.object));
        to.clock.Join(EnsureHost(op.host).clock);
        ++to.version;
      }
      break;
    case OpKind::kHostBegin:
      host.name = op.name;
      host.rank = op.aux;
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
  if (programmatic) return ProgrammaticWork(op, *stream, host);
  Prepare(*stream, host);
  uint64_t before = stream->epoch;
  Step step{.lane = stream->lane, .start = stream->base.get(), .stream = stream};
  step.epoch = step.write_epoch = ++stream->epoch;
  if (op.kind == OpKind::kCopy) step.write_epoch = ++stream->epoch;
  if (op.kind == OpKind::kCopy) Stage(op, accesses, *stream, &step);
  lanes_[stream->lane].epoch = stream->epoch;
  ++stream->version;
  stream->last = {};
  if (op.kind == OpKind::kKernel) stream->last = {stream->base, before, step.lane, step.epoch};
  if (op.flags & kLaunchEvent) RecordAtStart(op, *stream, &step);
  if (now_ != nullptr) Cross(op, index, *stream, step);
  if (op.kind == OpKind::kHostFn) {
    if (host_functions_.size() < kMaxHostFunctions) host_functions_.emplace_back();
    host_functions_[next_host_function_++ % kMaxHostFunctions] = {op.id, stream->base, stream,
                                                                  step.epoch};
  }
  return step;
}

void Order::Stage(const Op& op, const Access* accesses, Stream& stream, Step* step) {
  bool staged = op.access_count >= 2 && accesses[0].memory == MemoryKind::kPageable &&
                !OnHost(accesses[1].memory);
  if (!staged) return;
  if (stream.staging == 0) {
    stream.staging = NewLane(Lane::Kind::kStream);
    lanes_[stream.staging].stream = &stream;
    lanes_[stream.staging].host = stream.thread;
  }
  step->staging_lane = stream.staging;
  step->staging_epoch = ++lanes_[stream.staging].epoch;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(stream.staging, step->staging_epoch);
  step->start = stream.base.get();
}

// The walk remembers the starts of all work (an operation may have known of one that was issued
// later), and what a signal or another rank released in the walk before joins the stream behind the
// operation.
void Order::Cross(const Op& op, size_t index, Stream& stream, const Step& step) {
  Clock start = *step.start;
  start.Raise(step.lane, step.epoch - 1);
  now_->AddStart(index, start);
  bool point =
      op.kind == OpKind::kSignal || op.kind == OpKind::kAwait || op.kind == OpKind::kCollective;
  if (!point) return;
  now_->Add({op, index, stream.rank, step.lane, step.epoch, std::move(start)});
  if (before_ == nullptr) return;
  Clock gained;
  if (op.kind == OpKind::kAwait && RuleOn(Rule::kAwaitAcquires)) {
    gained = before_->Released(index, &last_await_never_);
  }
  if (op.kind == OpKind::kCollective && RuleOn(Rule::kCollectiveJoins))
    gained = before_->Received(index);
  if (gained.size() == 0) return;
  // Into a fresh base: the step's start must not gain what only its completion has.
  kept_start_ = stream.base;
  stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Join(gained);
  ++stream.version;
}

// Rule 13: starts with its predecessor's start clock; a grid-dependency wait adds the predecessor's
// completion and that alone. It runs beside the stream's lane, whose later work waits for it as for
// all else.
Step Order::ProgrammaticWork(const Op& op, Stream& stream, Host& host) {
  auto start = std::make_shared<Clock>(*stream.last.start);
  start->Raise(stream.lane, stream.last.start_epoch);
  if (RuleOn(Rule::kHostKnowledge)) start->Join(host.clock);
  AddImplicit(stream, start.get());  // rule 4 knows no exception for programmatic launches
  if (op.flags & kPdlWait) start->Raise(stream.last.lane, stream.last.epoch);
  LaneId lane = LaneBeside(stream, *start);
  uint64_t epoch = ++lanes_[lane].epoch;
  stream.last = {start, start->Get(stream.lane), lane, epoch};
  Step step{
      .lane = lane, .epoch = epoch, .write_epoch = epoch, .start = start.get(), .stream = &stream};
  if (op.flags & kLaunchEvent) RecordAtStart(op, stream, &step);
  JoinInto(stream, *start);
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(lane, epoch);
  ++stream.version;
  return step;
}

LaneId Order::LaneBeside(Stream& stream, const Clock& start) {
  for (LaneId lane : stream.beside) {
    if (start.Get(lane) >= lanes_[lane].epoch) return lane;
  }
  LaneId lane = NewLane(Lane::Kind::kStream);
  lanes_[lane].stream = &stream;
  lanes_[lane].host = stream.thread;
  stream.beside.push_back(lane);
  return lane;
}

// Rule 7: the event fires when the kernel's blocks start, so it covers what the kernel itself
// waited for.
void Order::RecordAtStart(const Op& op, Stream& stream, Step* step) {
  Event& event = events_[op.object];
  event.recorded = true;
  event.producer = op.stream;
  if (!RuleOn(Rule::kLaunchEventEarly)) {
    event.snapshot = {stream.base, stream.last.lane, stream.last.epoch};
    return;
  }
  if (stream.started == 0) {
    stream.started = NewLane(Lane::Kind::kIncidental);
    lanes_[stream.started].stream = &stream;
  }
  step->started_lane = stream.started;
  step->started_epoch = ++lanes_[stream.started].epoch;
  auto base = std::make_shared<Clock>(*stream.last.start);
  base->Raise(step->started_lane, step->started_epoch);
  event.snapshot = {base, stream.lane, stream.last.start_epoch};
}

Step Order::HostWork(Host& host) {
  uint64_t epoch = ++lanes_[host.lane].epoch;
  host.clock.Raise(host.lane, epoch);
  ++host.version;
  return {.lane = host.lane, .epoch = epoch, .write_epoch = epoch, .start = &host.clock};
}

void Order::Record(const Op& op, size_t index, Host& host) {
  Stream* stream = FindStream(op.stream, op.host);
  if (stream == nullptr) return;
  Prepare(*stream, host);
  stream->last = {};
  Event& event = events_[op.object];
  if (event.recorded && !RuleOn(Rule::kLatestRecord)) return;
  event.recorded = true;
  event.snapshot = Take(*stream);
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
    bool counts = lane != stream.lane && lanes_[lane].kind != Lane::Kind::kIncidental;
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
    auto covered = std::make_shared<const Clock>(WithImplicit(*stream));
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
  ++host.version;
  syncs_.erase(begun);
}

void Order::ReleaseTag(const Op& op, Host& host) { tags_[op.object].Join(host.clock); }

void Order::AcquireTag(const Op& op, Host& host) {
  auto tag = tags_.find(op.object);
  if (tag == tags_.end()) return;
  host.clock.Join(tag->second);
  ++host.version;
}

// The function runs in its stream's order, whatever the host thread knew when the access was seen.
Step Order::InsideHostFunction(const Op& op) {
  for (const HostFunction& function : host_functions_) {
    if (function.op != op.value) continue;
    return {.lane = function.stream->lane,
            .epoch = function.epoch,
            .write_epoch = function.epoch,
            .start = function.base.get(),
            .stream = function.stream};
  }
  return {};
}

void Order::SyncDevice(const Op& op, Host& host) {
  if (!RuleOn(Rule::kSyncAcquires)) return;
  for (auto& [key, stream] : streams_) {
    bool covered = stream->device == op.aux || !RuleOn(Rule::kDeviceSyncOneDevice);
    if (covered && stream->rank == op.value) LearnOrDefer(op, host, Take(*stream));
  }
}

// --- what detectors ask
// ---------------------------------------------------------------------------

const Event* Order::FindEvent(EventId id) const {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : &found->second;
}

Clock Order::NextStart(StreamId id, HostId host) {
  Clock clock;
  if (Stream* stream = FindStream(id, host)) clock = WithImplicit(*stream);
  return clock;
}

// What a next operation on the stream would wait for, without being one: a synchronisation or a
// question must not move the legacy lane, or later operations on blocking streams would gain an
// edge that the hardware does not have (probed: docs/results, rule 4).
Clock Order::WithImplicit(const Stream& stream) {
  Clock clock = *stream.base;
  clock.Raise(stream.lane, stream.epoch);
  AddImplicit(stream, &clock);
  return clock;
}

void Order::AddImplicit(const Stream& stream, Clock* clock) {
  auto add = [&](const Stream& other) {
    clock->Join(*other.base);
    clock->Raise(other.lane, other.epoch);
  };
  Context& context = contexts_[stream.context];
  if (stream.type == StreamType::kLegacy) {
    if (!RuleOn(Rule::kLegacyWaitsBlocking)) return;
    for (const Stream* blocking : context.blocking) add(*blocking);
  } else if (stream.type != StreamType::kNonBlocking || !RuleOn(Rule::kNonBlockingApart)) {
    if (context.legacy != nullptr && RuleOn(Rule::kBlockingWaitsLegacy)) add(*context.legacy);
  }
}

void Order::AddFrontier(StreamId id, HostId host, Clock* clock) {
  Stream* stream = FindStream(id, host);
  if (stream == nullptr) return;
  clock->Join(*stream->base);
  clock->Raise(stream->lane, stream->epoch);
}

Clock Order::Frontier(LaneId lane) const {
  const Lane& info = lanes_[lane];
  if (info.kind == Lane::Kind::kHost) return hosts_[info.host]->clock;
  Clock clock = *info.stream->base;
  clock.Raise(info.stream->lane, info.stream->epoch);
  return clock;
}

Clock Order::KnownAtFree(HostId id) const {
  Clock clock = hosts_[id]->clock;
  if (strict_ || !RuleOn(Rule::kSeenByAnyThread)) return clock;
  for (const auto& host : hosts_) {
    if (!host || host->rank != hosts_[id]->rank) continue;
    for (LaneId lane = 1; lane < host->clock.size(); ++lane) {
      if (lanes_[lane].kind != Lane::Kind::kHost) clock.Raise(lane, host->clock.Get(lane));
    }
  }
  return clock;
}

// --- incidental synchronisation
// -------------------------------------------------------------------

void Order::AddIncidental(Host& host, Clock source) {
  Expand(&source, {}, true);  // closed: what the source knew incidentally is passed on
  if (host.incidental == 0) {
    host.incidental = NewLane(Lane::Kind::kIncidental);
    lanes_[host.incidental].host = host.id;
  }
  uint64_t epoch = ++lanes_[host.incidental].epoch;
  host.clock.Raise(host.incidental, epoch);
  ++host.version;
  if (incidental_.size() >= kMaxIncidental) incidental_.pop_front();
  incidental_.push_back({std::move(source), host.incidental, epoch});
}

void Order::AddIncidentalDeviceSync(HostId id, uint32_t device, uint32_t rank) {
  Clock all;
  for (auto& [key, stream] : streams_) {
    if (stream->device != device || stream->rank != rank) continue;
    all.Join(*stream->base);
    all.Raise(stream->lane, stream->epoch);
  }
  AddIncidental(EnsureHost(id), std::move(all));
}

void Order::Expand(Clock* clock, const std::vector<ConditionalEdge>& edges, bool incidental) const {
  auto apply = [&](const auto& list) {
    bool changed = false;
    for (const ConditionalEdge& edge : list) {
      if (clock->Get(edge.lane) < edge.epoch || clock->Covers(edge.source)) continue;
      clock->Join(edge.source);
      changed = true;
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = apply(edges);
    if (incidental && apply(incidental_)) changed = true;
  }
}

void Order::Finish(const Op& op, const Step& step, const Access* accesses) {
  if (step.stream == nullptr || op.access_count == 0) return;
  Host& host = EnsureHost(op.host);
  bool blocking = op.flags & kBlocking;
  auto upto = [&](uint64_t epoch) {
    Clock clock = *step.start;
    clock.Raise(step.lane, epoch);
    return clock;
  };
  auto learn = [&](uint64_t epoch) {
    if (op.flags & kSyncBegin) {
      syncs_[op.id].Join(upto(epoch));
      return;
    }
    host.clock.Join(upto(epoch));
    ++host.version;
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
  bool pageable = from == MemoryKind::kPageable || to == MemoryKind::kPageable;
  if (OnHost(from) && OnHost(to)) {
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
    ++host.version;
    AddIncidental(host, upto(step.epoch));
  } else if (pageable) {
    uint64_t epoch = from == MemoryKind::kPageable ? step.epoch : step.write_epoch;
    if (RuleOn(Rule::kPageableIncidental)) {
      AddIncidental(host, upto(epoch));
    } else {
      learn(epoch);
    }
  } else if (!RuleOn(Rule::kPinnedCopyAsync)) {
    learn(step.write_epoch);
  }
}

// --- lanes that come and go
// -----------------------------------------------------------------------

void Order::MarkConditional(std::vector<bool>* live) const {
  for (const ConditionalEdge& edge : incidental_) (*live)[edge.lane] = true;
}

void Order::RecycleLanes(const std::vector<bool>& live) {
  std::vector<LaneId> still;
  for (LaneId lane : retired_lanes_) {
    if (live[lane]) {
      still.push_back(lane);
      continue;
    }
    Stream* stream = lanes_[lane].stream;
    std::erase_if(host_functions_, [&](const HostFunction& f) { return f.stream == stream; });
    next_host_function_ = host_functions_.size();
    if (stream != nullptr) {
      for (LaneId beside : stream->beside) lanes_[beside].stream = nullptr;
      if (stream->staging != 0) lanes_[stream->staging].stream = nullptr;
      if (stream->started != 0) lanes_[stream->started].stream = nullptr;
      streams_.erase(stream->id);
    }
    lanes_[lane].stream = nullptr;
    free_lanes_.push_back(lane);
  }
  retired_lanes_ = std::move(still);
}

}  // namespace ss
