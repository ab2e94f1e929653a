#include "src/import/importer.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr uint64_t kEndOfTime = std::numeric_limits<uint64_t>::max();

template <typename Body>
constexpr bool IsCall() {  // a call of the driver, not a definition and not a note
  if constexpr (std::is_same_v<Body, trace::Unknown> || std::is_same_v<Body, trace::Function> ||
                std::is_same_v<Body, trace::Image> || std::is_same_v<Body, trace::ImageBytes> ||
                std::is_same_v<Body, trace::TensorMap>) {
    return false;
  } else {
    return (Body::kId >= trace::ContextCreate::kId && Body::kId < trace::NoteBuffer::kId) ||
           Body::kId == trace::NcclGroupEnd::kId ||
           (Body::kId >= trace::CaptureBegin::kId && !std::is_same_v<Body, trace::Time>);
  }
}

// Definitions may come from any thread, or from none that ever calls anything.
template <typename Body>
constexpr bool IsOfThread() {
  if constexpr (std::is_same_v<Body, trace::Unknown> || std::is_same_v<Body, trace::Time>) {
    return false;
  } else {
    return IsCall<Body>() || Body::kId >= trace::NoteBuffer::kId ||
           Body::kId == trace::ThreadEnd::kId;
  }
}

// What these calls make exists when they return: before that, the handle or address may still be
// freed by another thread. Other calls take effect when they are made.
bool ExistsAtReturn(const trace::Body& body) {
  if (auto* alloc = std::get_if<trace::Alloc>(&body)) return alloc->result == 0;
  if (auto* alloc = std::get_if<trace::AllocAsync>(&body)) return alloc->result == 0;
  if (auto* made = std::get_if<trace::GraphInstantiate>(&body)) return made->result == 0;
  return std::holds_alternative<trace::ContextCreate>(body) ||
         std::holds_alternative<trace::StreamCreate>(body) ||
         std::holds_alternative<trace::EventCreate>(body) ||
         std::holds_alternative<trace::Shared>(body) ||  // of what such a call makes
         std::holds_alternative<trace::GraphCreate>(body);
}

}  // namespace

Importer::State::State(Program& names, ImportOptions options)
    : strings_(names.strings),
      shapes_(names.shapes),
      options_(options),
      doings_(strings_),
      texts_(strings_) {
  stream_names_.push_back(0);  // StreamId 0 = none
}

void Importer::State::Feed(const trace::Record& record, ImportSink& sink) {
  Advance(record.seq_before, sink);
  if (!Defer(record)) Handle(record);
  last_seq_ = std::max(last_seq_, record.seq_before);
}

void Importer::State::Advance(uint64_t seq, ImportSink& sink) {
  now_.sink = &sink;
  if (!deferred_.empty() || !syncs_.empty()) RunPending(seq);
  held_.Release(seq, sink);
}

void Importer::State::Handle(const trace::Record& record) {
  now_.thread = record.thread;
  now_.before = record.seq_before;
  now_.after = std::max(record.seq_before, record.seq_after);
  now_.unordered = false;
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (IsOfThread<Body>()) now_.life = &ThreadOf(record.thread);
        if constexpr (IsCall<Body>()) {
          ++calls_;
          now_.unordered = record.seq_before < last_seq_ && !ExistsAtReturn(record.body);
          if (now_.unordered) counts_.Add(Count::kUnorderedRecords);
        }
        if constexpr (requires { body.graph_node; }) {
          if (body.graph_node != 0) return InGraph(body);
        }
        On(body);
      },
      record.body);
}

// Its work is that of a node, whenever the graph is launched.
template <typename Body>
void Importer::State::InGraph(const Body& body) {
  if (Failed(body.result)) {
    if (body.stream != 0) DropNotes(body.stream);
    return;
  }
  GraphNode* node = NodeFor(body.stream, body.context, body.graph_node, body.graph_exec);
  if (body.stream == 0) by_hand_.context = ContextOf(body.context);
  const uint64_t handle = node == nullptr ? 0 : node->handle;
  BeginBuilding();
  On(body);
  std::vector<NodeOp> work = EndBuilding();
  if (handle == 0) return;
  node->work = std::move(work);
  if constexpr (requires {
                  body.function;
                  body.words;
                })
    node->function = body.function;
}

// Without the flag it is no node: it says what a wait for the event comes after.
void Importer::State::InGraph(const trace::EventRecord& record) {
  if (record.flags != 0) return InGraph<trace::EventRecord>(record);
  if (!Failed(record.result)) CaptureRecord(record);
}

void Importer::State::InGraph(const trace::StreamWaitEvent& record) {
  if (record.flags != 0) return InGraph<trace::StreamWaitEvent>(record);
  if (!Failed(record.result)) CaptureWait(record);
}

bool Importer::State::Defer(const trace::Record& record) {
  if (record.seq_after <= record.seq_before || !ExistsAtReturn(record.body)) return false;
  deferred_.push_back(record);
  auto* alloc = std::get_if<trace::AllocAsync>(&record.body);
  if (alloc != nullptr && alloc->graph_node == 0) {  // queues something meanwhile
    now_.thread = record.thread;
    now_.before = record.seq_before;
    now_.after = record.seq_after;
    now_.life = &ThreadOf(record.thread);
    const Touch touch = Queues(StreamOf(alloc->stream, alloc->context));
    overlaps_.Check(touch, OverlapWatch::kNotQueued, held_);
  }
  return true;
}

// Whatever ended before `seq`, in the order in which it ended.
void Importer::State::RunPending(uint64_t seq) {
  auto sooner = [](const auto& a, const auto& b) { return a.after < b.after; };
  auto returns_sooner = [](const trace::Record& a, const trace::Record& b) {
    return a.seq_after < b.seq_after;
  };
  for (;;) {
    auto sync = std::min_element(syncs_.begin(), syncs_.end(), sooner);
    auto call = std::min_element(deferred_.begin(), deferred_.end(), returns_sooner);
    const uint64_t sync_at = sync == syncs_.end() ? kEndOfTime : sync->after;
    const uint64_t call_at = call == deferred_.end() ? kEndOfTime : call->seq_after;
    if (std::min(sync_at, call_at) >= seq) return;
    if (sync_at < call_at) {
      const OpenSync ended = *sync;
      syncs_.erase(sync);
      EndSync(ended);
    } else {
      const trace::Record record = std::move(*call);
      deferred_.erase(call);
      Handle(record);
    }
  }
}

void Importer::State::EndSync(const OpenSync& sync) {
  if (!sync.split) return;
  const Now caller = now_;
  now_.thread = sync.thread;
  now_.before = now_.after = sync.after;
  now_.unordered = false;
  now_.life = &ThreadOf(sync.thread);
  Op& op = Emit(OpKind::kSyncEnd, sync.op.stack);
  op.stream = sync.op.stream;
  op.object = sync.op.object;
  op.value = sync.op.id;
  now_ = caller;
}

// An operation comes between a synchronisation's call and its return: the host thread must not be
// seen to know before the return what it waits for. One that nothing comes between stays a single
// operation.
void Importer::State::SplitSyncs() {
  for (OpenSync& sync : syncs_) {
    if (!sync.split && sync.thread != now_.thread) Split(sync);
  }
}

void Importer::State::Split(OpenSync& sync) {
  Op* op = held_.Find(sync.ticket);
  if (op == nullptr) return;
  op->flags |= kSyncBegin;
  sync.split = true;
  held_.Unhold(sync.ticket);
}

void Importer::State::Finish(ImportSink& sink) {
  Advance(kEndOfTime, sink);
  for (auto& [number, life] : threads_) {
    counts_.Add(Count::kUnusedNotes, life.notes.size());
    life.notes.clear();
  }
  counts_.Add(Count::kUnknownGraphs, orphans_.size());  // changed, and of no graph that is known
  counts_.Add(Count::kNcclUnreturned, nccl_.CountOpen());
  counts_.Add(Count::kNcclUnseen, nccl_.TakeLaunches());
}

Importer::Importer(Program& names, ImportOptions options)
    : state_(std::make_unique<State>(names, options)) {}
Importer::~Importer() = default;

void Importer::Feed(const trace::Record& record, ImportSink& sink) { state_->Feed(record, sink); }
void Importer::Advance(uint64_t seq, ImportSink& sink) { state_->Advance(seq, sink); }
void Importer::Finish(ImportSink& sink) { state_->Finish(sink); }
const kernels::KernelEntry* Importer::WaitsFor(const trace::Record& record) const {
  return state_->WaitsFor(record);
}

Coverage Importer::coverage() const { return state_->MakeCoverage(); }
const ProcessInfo& Importer::process() const { return state_->process_; }
const StackTable& Importer::stacks() const { return state_->stacks_; }
const std::vector<DescribedStack>& Importer::described_stacks() const {
  return state_->doings_.stacks();
}
const std::vector<Image>& Importer::images() const { return state_->images_; }
const std::vector<SharedThing>& Importer::shared() const { return state_->shared_; }
const std::unordered_map<uint64_t, uint32_t>& Importer::flags() const { return state_->flags(); }
RankCalls Importer::collectives() const { return state_->Collectives(); }

std::vector<std::pair<std::string, uint64_t>> Importer::call_counts() const {
  std::vector<std::pair<std::string, uint64_t>> counts;
  for (const auto& [text_id, calls] : state_->call_counts_) {
    counts.emplace_back(state_->strings_.Get(state_->texts_.Get(text_id)), calls);
  }
  return counts;
}

const std::string& Importer::StreamName(StreamId stream) const {
  const auto& names = state_->stream_names_;
  return state_->strings_.Get(stream < names.size() ? names[stream] : 0);
}

const std::string& Importer::HostName(HostId host) const {
  const auto& names = state_->host_names_;
  return state_->strings_.Get(host < names.size() ? names[host] : 0);
}

}  // namespace ss
