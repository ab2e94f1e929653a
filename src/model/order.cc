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

void UserSet::Add(uint32_t host) {
  if (host < 64) {
    low |= uint64_t{1} << host;
  } else if (std::find(high.begin(), high.end(), host) == high.end()) {
    high.push_back(host);
  }
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
  if (id < slots_.size() && slots_[id] != kNoSlot) return *hosts_[slots_[id]];
  return MakeHost(id);
}

Host& Order::MakeHost(HostId id) {
  if (id >= slots_.size()) slots_.resize(id + 1, kNoSlot);
  if (id >= host_infos_.size()) host_infos_.resize(id + 1);
  size_t slot = std::find(hosts_.begin(), hosts_.end(), nullptr) - hosts_.begin();
  if (slot == hosts_.size()) hosts_.emplace_back();
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

// --- streams
// --------------------------------------------------------------------------------------

Stream* Order::MakeStream(const Op& op, HostId thread) {
  auto stream = std::make_unique<Stream>();
  stream->id = op.stream;
  stream->type = static_cast<StreamType>(op.aux);
  stream->context = op.value >> 16;
  stream->home = &contexts_[stream->context];
  stream->device = static_cast<uint32_t>(op.value & 0xffff);
  stream->rank = static_cast<uint32_t>(op.value >> 32);
  stream->name = op.name;
  stream->thread = thread;
  stream->lane = NewLane(Lane::Kind::kStream);
  stream->epoch = lanes_[stream->lane].epoch;
  lanes_[stream->lane].stream = stream.get();
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
  if (id == last_found_ && id != 0) return last_stream_;
  if (auto found = streams_.find(id); found != streams_.end()) {
    last_found_ = id;
    return last_stream_ = found->second.get();
  }
  if (auto found = aliases_.find(id); found != aliases_.end()) return found->second;
  if (!RuleOn(Rule::kPerThreadLane)) host = 0;
  if (auto found = streams_.find(StreamKey(id, true, host)); found != streams_.end()) {
    return found->second.get();
  }
  auto made = templates_.find(id);
  if (made == templates_.end()) return nullptr;
  Stream* stream = MakeStream(made->second, host);
  stream->home->blocking.push_back(stream);
  return stream;
}

void Order::Destroy(const Op& op) {
  if (!RuleOn(Rule::kStreamGeneration)) return;
  if (auto found = streams_.find(op.stream); found != streams_.end()) Retire(found->second.get());
  if (templates_.erase(op.stream) == 0) return;
  for (auto& [key, stream] : streams_) {
    if (stream->id == op.stream) Retire(stream.get());
  }
}

void Order::Retire(Stream* stream) {
  if (stream->destroyed) return;
  stream->destroyed = true;
  auto& blocking = stream->home->blocking;
  // What a blocking stream did is still waited for by the legacy stream's next operation.
  if (Stream* legacy = stream->home->legacy;
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
  Changed(host);
}

void Order::LearnStream(Host& host, const Stream& stream) {
  Learn(host, {stream.base, stream.lane, stream.epoch});
}

// Rule 4. A destroyed stream has handed its work over in Destroy().
void Order::JoinImplicit(Stream& stream) {
  if (stream.type == StreamType::kNonBlocking && RuleOn(Rule::kNonBlockingApart)) return;
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

// --- hand-over between host threads (rule 3)
// ------------------------------------------------------

void Order::Use(UserSet& users, Host& host) {
  users.ForEach([&](uint32_t other) { LearnFrom(*hosts_[other], host); });
  if (users.gone && !host.clock.Covers(*users.gone)) {
    host.clock.Join(*users.gone);
    Changed(host);
  }
  users.Add(host.slot);
  users.last_user = host.slot;
  users.last_news = news_;
}

void Order::LearnFrom(Host& other, Host& host) {
  if (&other == &host || other.rank != host.rank) return;
  if (other.slot >= host.taken.size()) host.taken.resize(other.slot + 1, 0);
  if (host.taken[other.slot] == other.version) return;
  host.taken[other.slot] = other.version;
  if (host.clock.Covers(other.clock)) return;
  host.clock.Join(other.clock);
  Changed(host);
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
                  op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery ||
                  (op.flags & kLaunchEvent);
  if (on_event) Use(events_[op.object].users, host);
  if (op.kind != OpKind::kFree && op.stream != 0) {
    if (Stream* stream = FindStream(op.stream, op.host)) Use(stream->users, host);
  }
  for (UserSet* buffer : users) {
    if (buffer->last_user != host.slot || buffer->last_news != news_) Use(*buffer, host);
  }
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
  if (programmatic) return ProgrammaticWork(op, *stream, host);
  Prepare(*stream, host);
  uint64_t before = stream->epoch;
  Step step{.lane = stream->lane, .start = stream->base.get(), .stream = stream};
  step.epoch = step.write_epoch = ++stream->epoch;
  if (op.kind == OpKind::kCopy) step.write_epoch = ++stream->epoch;
  if (op.kind == OpKind::kCopy) Stage(op, accesses, *stream, host, &step);
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

// The asynchronous form may read its source as late as the stream gets there (rule 9: that it does
// not is incidental).
void Order::Stage(const Op& op, const Access* accesses, Stream& stream, const Host& host,
                  Step* step) {
  bool staged = (op.flags & kBlocking) && op.access_count >= 2 &&
                accesses[0].memory == MemoryKind::kPageable && !OnHost(accesses[1].memory);
  if (!staged) return;
  step->staging_lane = StagingLane(stream, host);
  step->staging_epoch = ++lanes_[step->staging_lane].epoch;
  if (stream.base.use_count() > 1) stream.base = std::make_shared<Clock>(*stream.base);
  stream.base->Raise(step->staging_lane, step->staging_epoch);
  step->start = stream.base.get();
}

LaneId Order::StagingLane(Stream& stream, const Host& host) {
  for (const Stream::Staging& staging : stream.staging) {
    if (staging.host == host.lane) return staging.lane;
  }
  LaneId lane = NewLane(Lane::Kind::kStream);
  lanes_[lane].stream = &stream;
  stream.staging.push_back({host.lane, lane});
  return lane;
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
  Step step{
      .lane = lane, .epoch = epoch, .write_epoch = epoch, .start = start.get(), .stream = &stream};
  // A programmatic launch behind this one starts after all that this one started after.
  step.started_epoch = Count(stream, &stream.started);
  step.started_lane = stream.started;
  start->Raise(step.started_lane, step.started_epoch);
  stream.last = {start, start->Get(stream.lane), lane, epoch};
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
  if (step->started_lane == 0) {
    step->started_epoch = Count(stream, &stream.started);
    step->started_lane = stream.started;
  }
  auto base = std::make_shared<Clock>(*stream.last.start);
  base->Raise(step->started_lane, step->started_epoch);
  event.snapshot = {base, stream.lane, stream.last.start_epoch};
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
    bool device = stream->device == op.aux || !RuleOn(Rule::kDeviceSyncOneDevice);
    bool context = op.object == 0 || (stream->context & 0xffff) == op.object - 1;
    if (device && context && stream->rank == op.value) LearnOrDefer(op, host, Take(*stream));
  }
}

// --- what detectors ask
// ---------------------------------------------------------------------------

const Event* Order::FindEvent(EventId id) const {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : &found->second;
}

void Order::NextStart(StreamId id, HostId host, Clock* clock) {
  if (Stream* stream = FindStream(id, host)) WithImplicit(*stream, clock);
}

// What a next operation on the stream would wait for, without being one: a synchronisation or a
// question must not move the legacy lane, or later operations on blocking streams would gain an
// edge that the hardware does not have (probed: docs/results, rule 4).
void Order::WithImplicit(const Stream& stream, Clock* clock) const {
  clock->Join(*stream.base);
  clock->Raise(stream.lane, stream.epoch);
  AddImplicit(stream, clock);
}

void Order::AddImplicit(const Stream& stream, Clock* clock) const {
  auto add = [&](const Stream& other) {
    clock->Join(*other.base);
    clock->Raise(other.lane, other.epoch);
  };
  const Context& context = *stream.home;
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

Clock Order::KnownAtFree(HostId id) {
  Clock clock;
  KnownAtFree(id, &clock);
  return clock;
}

void Order::KnownAtFree(HostId id, Clock* clock) {
  AtFree known = LookAtFree(id);
  *clock = *known.own;
  if (known.seen != nullptr) clock->Join(*known.seen);
}

Order::AtFree Order::LookAtFree(HostId id) {
  const Host& caller = EnsureHost(id);
  if (strict_ || !RuleOn(Rule::kSeenByAnyThread)) return {&caller.clock, nullptr};
  if (shown_news_ != news_) {
    for (const auto& host : hosts_) {
      if (host && host->shown_version != host->version) Show(*host);
    }
    shown_news_ = news_;
  }
  return {&caller.clock, &seen_[caller.rank]};
}

bool Order::NextStartKnows(const Stream& stream, LaneId lane, uint64_t epoch) const {
  auto knows = [&](const Stream& other) {
    return (other.lane == lane && other.epoch >= epoch) || other.base->Get(lane) >= epoch;
  };
  if (knows(stream)) return true;
  const Context& context = *stream.home;
  if (stream.type == StreamType::kLegacy) {
    if (!RuleOn(Rule::kLegacyWaitsBlocking)) return false;
    return std::any_of(context.blocking.begin(), context.blocking.end(),
                       [&](const Stream* blocking) { return knows(*blocking); });
  }
  if (stream.type == StreamType::kNonBlocking && RuleOn(Rule::kNonBlockingApart)) return false;
  return context.legacy != nullptr && RuleOn(Rule::kBlockingWaitsLegacy) && knows(*context.legacy);
}

void Order::Show(Host& host) {
  Clock& seen = seen_[host.rank];
  for (LaneId lane = 1; lane < host.clock.size(); ++lane) {
    if (lanes_[lane].kind != Lane::Kind::kHost) seen.Raise(lane, host.clock.Get(lane));
  }
  host.shown_version = host.version;
}

// --- incidental synchronisation
// -------------------------------------------------------------------

void Order::AddIncidental(Host& host, Clock source) {
  Expand(&source, {}, true);  // closed: what the source knew incidentally is passed on
  if (host.incidental == 0) {
    host.incidental = NewLane(Lane::Kind::kIncidental);
  }
  uint64_t epoch = ++lanes_[host.incidental].epoch;
  host.clock.Raise(host.incidental, epoch);
  Changed(host);
  // Cumulative: who knows this one knows the thread's earlier ones, so one look a thread is enough.
  auto& edges = incidental_[host.incidental];
  if (!edges.empty()) source.Join(edges.back().source);
  edges.push_back({std::move(source), host.incidental, epoch});
  incidental_lanes_.push_back(host.incidental);
  if (incidental_lanes_.size() > kMaxIncidental) DropOldestIncidental();
}

void Order::DropOldestIncidental() {
  auto oldest = incidental_.find(incidental_lanes_.front());
  incidental_lanes_.pop_front();
  oldest->second.pop_front();
  if (oldest->second.empty()) incidental_.erase(oldest);
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
  auto learn = [&](const ConditionalEdge& edge) {
    if (clock->Get(edge.lane) < edge.epoch || clock->Covers(edge.source)) return false;
    clock->Join(edge.source);
    return true;
  };
  auto latest = [&](LaneId lane, const std::deque<ConditionalEdge>& list) {
    auto known = [](uint64_t epoch, const ConditionalEdge& edge) { return epoch < edge.epoch; };
    auto after = std::upper_bound(list.begin(), list.end(), clock->Get(lane), known);
    return after == list.begin() ? nullptr : &*std::prev(after);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const ConditionalEdge& edge : edges) changed |= learn(edge);
    if (!incidental) continue;
    for (const auto& [lane, list] : incidental_) {
      const ConditionalEdge* edge = latest(lane, list);
      if (edge != nullptr && learn(*edge)) changed = true;
    }
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
    Changed(host);
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
  for (const auto& [lane, edges] : incidental_) (*live)[lane] = true;
}

void Order::RecycleLanes(const std::vector<bool>& live) {
  std::vector<LaneId> still;
  for (LaneId lane : retired_lanes_) {
    Stream* stream = lanes_[lane].stream;
    std::vector<LaneId> lanes = stream->beside;
    lanes.push_back(lane);
    for (const Stream::Staging& staging : stream->staging) lanes.push_back(staging.lane);
    for (LaneId counter : {stream->started, stream->marks}) {
      if (counter != 0) lanes.push_back(counter);
    }
    if (std::any_of(lanes.begin(), lanes.end(), [&](LaneId l) { return live[l]; })) {
      still.push_back(lane);
      continue;
    }
    std::erase_if(host_functions_, [&](const HostFunction& f) { return f.stream == stream; });
    next_host_function_ = host_functions_.size();
    if (last_stream_ == stream) last_found_ = 0;
    streams_.erase(StreamKey(stream->id, stream->type == StreamType::kPerThread, stream->thread));
    free_lanes_.insert(free_lanes_.end(), lanes.begin(), lanes.end());
  }
  retired_lanes_ = std::move(still);
}

void Order::ForgetEndedHosts(const std::vector<bool>& live, const std::vector<UserSet*>& buffers) {
  std::vector<bool> ended(hosts_.size(), false);
  for (const auto& host : hosts_) {
    bool counted = host && host->incidental != 0 && live[host->incidental];
    if (!host || !host->ended || live[host->lane] || counted) continue;
    ended[host->slot] = true;
    Show(*host);
  }
  for (auto& [key, stream] : streams_) Fold(stream->users, ended);
  for (auto& [id, event] : events_) Fold(event.users, ended);
  for (UserSet* users : buffers) Fold(*users, ended);
  for (auto& host : hosts_) {
    if (!host || !ended[host->slot]) continue;
    free_lanes_.push_back(host->lane);
    if (host->incidental != 0) free_lanes_.push_back(host->incidental);
    if (slots_[host->id] == host->slot) slots_[host->id] = kNoSlot;
    --ended_hosts_;
    host.reset();
  }
}

void Order::Fold(UserSet& users, const std::vector<bool>& ended) {
  users.ForEach([&](uint32_t slot) {
    if (!ended[slot]) return;
    if (!users.gone) users.gone = std::make_unique<Clock>();
    users.gone->Join(hosts_[slot]->clock);
    if (slot < 64) users.low &= ~(uint64_t{1} << slot);
  });
  std::erase_if(users.high, [&](uint32_t slot) { return ended[slot]; });
}

}  // namespace ss
