// Records about NCCL. A group's calls on one communicator are one operation with exact accesses
// (rule 23); what NCCL launched to do them is not the program's.
//
// Only this process's half of a collective is here, so it waits for nobody: it reads and writes the
// rank's own buffers in stream order. Communicators are told apart by their handle's life; what the
// other ranks did with them is for whoever joins the traces (ranks.cc).
#include <algorithm>
#include <optional>
#include <string>

#include "src/import/state.h"
#include "src/trace/nccl.h"

namespace ss {
namespace {

constexpr int64_t kSuccess = 0, kInProgress = 7;   // ncclResult_t
constexpr uint64_t kSimulated = 2, kByPlugIn = 3;  // NcclGroupEnd::how
constexpr uint64_t kAbort = 2;
constexpr uint64_t kFinalize = 3;                       // NcclCommEnd::how: the handle lives on
constexpr uint64_t kInsideCallBit = 4, kByNcclBit = 8;  // Launch::kind
constexpr uint64_t kNoStream = 0;                       // NcclCall::stream: the launch's
constexpr uint64_t kDatatypeBytes[] = {
#define NCCL_DATATYPE(number, name, bytes) bytes,
#include "src/trace/nccl.def"
};

struct KindRow {
  const char* name;
  CollectiveKind kind;
};
constexpr KindRow kRows[trace::kNcclKinds] = {
    {"ncclUnknown", CollectiveKind::kAllToAll},
#define NCCL_KIND(number, name, movement, code) {"nccl" #name, CollectiveKind::k##movement},
#include "src/trace/nccl.def"
};

const KindRow& RowOf(const trace::NcclCall& call) {
  return kRows[call.kind < trace::kNcclKinds ? call.kind : 0];
}

bool IsPointToPoint(const trace::NcclCall& call) {
  return call.kind == trace::kNcclSend || call.kind == trace::kNcclRecv;
}

uint64_t Partner(const trace::NcclCall& call) { return static_cast<uint64_t>(call.peer + 1); }

struct Bytes {
  uint64_t address = 0, size = 0;
};

// What a rank reads, and what it writes: without the part that an operation in place leaves as it
// is, which the program may read meanwhile.
struct Touched {
  Bytes read;
  std::vector<Bytes> written;
};

// The receive buffer of a rank whose own part is already in place.
std::vector<Bytes> AllButOwn(Bytes all, Bytes own) {
  if (own.address < all.address || own.address + own.size > all.address + all.size) return {all};
  const uint64_t end = own.address + own.size;
  return {{all.address, own.address - all.address}, {end, all.address + all.size - end}};
}

bool Overflows(uint64_t count, uint64_t size, uint64_t ranks) {
  uint64_t bytes = 0;
  return __builtin_mul_overflow(count, size, &bytes) ||
         __builtin_mul_overflow(bytes, ranks, &bytes);
}

// nccl.h's words on each function. Nothing if too little is known.
std::optional<Touched> TouchedBy(const trace::NcclCall& call, const NcclMember& comm) {
  if (call.datatype >= std::size(kDatatypeBytes)) return std::nullopt;
  const uint64_t size = kDatatypeBytes[call.datatype];
  if (Overflows(call.count, size, std::max<uint64_t>(comm.ranks, 1))) return std::nullopt;
  const uint64_t one = call.count * size, all = one * comm.ranks;
  const bool root = call.peer == comm.rank;
  const Bytes send{call.send, one}, receive{call.receive, one};
  const Bytes send_all{call.send, all}, receive_all{call.receive, all};
  switch (call.kind) {
    case trace::kNcclAllReduce:
      return Touched{send, {receive}};
    case trace::kNcclSend:
      return Touched{send, {}};
    case trace::kNcclRecv:
      return Touched{{}, {receive}};
  }
  if (comm.rank < 0) return std::nullopt;  // all others depend on the rank
  switch (call.kind) {
    case trace::kNcclBroadcast:
      if (!root) return Touched{{}, {receive}};
      return Touched{send, AllButOwn(receive, send)};
    case trace::kNcclReduce:
      return root ? Touched{send, {receive}} : Touched{send, {}};
  }
  if (comm.ranks == 0) return std::nullopt;  // and these on how many there are
  switch (call.kind) {
    case trace::kNcclAllGather:
      return Touched{send, AllButOwn(receive_all, send)};
    case trace::kNcclReduceScatter:
      return Touched{send_all, {receive}};
    case trace::kNcclAlltoAll:
      return Touched{send_all, {receive_all}};
    case trace::kNcclGather:
      return root ? Touched{send, AllButOwn(receive_all, send)} : Touched{send, {}};
    case trace::kNcclScatter: {
      if (!root) return Touched{{}, {receive}};
      const Bytes own{call.send + static_cast<uint64_t>(comm.rank) * one, one};
      return Touched{send_all, AllButOwn(receive, own)};
    }
  }
  return std::nullopt;
}

// The names of what a group is made of, each once, in order: how many there are may change from
// step to step.
std::string NameOf(const std::vector<trace::NcclCall>& calls) {
  std::string name;
  uint64_t named = 0;
  for (const trace::NcclCall& call : calls) {
    const uint64_t bit = uint64_t{1} << (call.kind < trace::kNcclKinds ? call.kind : 0);
    if (named & bit) continue;
    named |= bit;
    name += (name.empty() ? "" : "+") + std::string(RowOf(call).name);
  }
  return name;
}

template <typename Get>
bool AllAgree(const std::vector<trace::NcclCall>& calls, Get get) {
  return std::all_of(calls.begin(), calls.end(),
                     [&](const trace::NcclCall& call) { return get(call) == get(calls.front()); });
}

}  // namespace

bool IsEmptyCollective(const trace::NcclCall& call) {
  return call.count == 0 && !IsPointToPoint(call);
}

CollectiveCall MakeCall(const trace::NcclCall& call) {
  constexpr uint64_t kStated = 1;  // 0 = the language has none
  const bool known = call.datatype < std::size(kDatatypeBytes);
  const bool reduces = call.kind == trace::kNcclAllReduce || call.kind == trace::kNcclReduce ||
                       call.kind == trace::kNcclReduceScatter;
  CollectiveCall made;
  made.kind = RowOf(call).kind;
  made.peer = static_cast<uint32_t>(Partner(call));
  made.bytes = call.count * (known ? kDatatypeBytes[call.datatype] : 1);
  made.datatype = static_cast<uint8_t>(std::min<uint64_t>(call.datatype, 254) + kStated);
  if (reduces) made.reduction = static_cast<uint8_t>(std::min<uint64_t>(call.op, 254) + kStated);
  return made;
}

void Importer::State::On(const trace::NcclComm& record) {
  std::string identity = IdentityOf(record);
  NcclLife& life = nccl_.Create(record.comm);
  life.rank = record.rank;
  life.ranks = record.ranks;
  life.identity = std::move(identity);
  CommEnd& end = EndOf(life);
  if (record.rank >= 0) end.identity = life.identity;
  end.member = static_cast<uint32_t>(std::max<int64_t>(record.rank, 0));
  end.ranks = static_cast<uint32_t>(record.ranks);
  end.stack = doings_.Stack(record.stack, now_.life->doing);
}

void Importer::State::On(const trace::NcclCommEnd& record) {
  NcclLife* life = nccl_.Find(record.comm);
  if (life != nullptr && record.how == kAbort) EndOf(*life).aborted = true;
  if (record.how < kFinalize) nccl_.Destroy(record.comm);
}

void Importer::State::On(const trace::NcclCall& record) {
  NcclAsked asked{record, nccl_.Get(record.comm), now_.life->host};
  asked.call.stack = doings_.Stack(record.stack, now_.life->doing);
  if (record.stream != kNoStream) asked.stream = StreamOf(record.stream, record.context).id;
  nccl_.Add(asked);
}

void Importer::State::On(const trace::NcclGroupEnd& record) {
  std::vector<NcclAsked> asked = nccl_.Take(record.group);
  if (record.how == kSimulated) return;
  if (record.result == kInProgress) {
    nccl_.nonblocking = true;
    counts_.Add(Count::kNcclNonblocking);
  } else if (Failed(record.result)) {
    return;
  }
  if (record.how == kByPlugIn) FindStreams(asked);
  for (const NcclWork& work : WorksOf(asked)) EmitGroup(work);
}

// The launch that a group told by NCCL stands behind is its work; it is also the one to say on
// which stream, where NCCL did not. Without it, a call is left out: it was launched elsewhere or
// earlier, as one that is replayed with a graph.
void Importer::State::FindStreams(std::vector<NcclAsked>& all) {
  const std::optional<NcclLaunch> launch = nccl_.TakeLaunch(now_.thread);
  if (launch) counts_.Add(Count::kNcclOwnLaunches);
  std::erase_if(all, [&](NcclAsked& asked) {
    trace::NcclCall& call = asked.call;
    if (call.stream != kNoStream) return false;
    if (!launch) {
      counts_.Add(Count::kNcclNoStream);
      return true;
    }
    call.stream = launch->stream;
    call.context = launch->context;
    asked.stream = StreamOf(call.stream, call.context).id;
    return false;
  });
}

// nccl.h: operations of one group on several streams are as if they were posted on every stream,
// and wait for all of them.
void Importer::State::EmitGroup(const NcclWork& work) {
  std::vector<StreamLife> streams;
  for (const trace::NcclCall& call : work.calls) {
    const StreamLife& stream = StreamOf(call.stream, call.context);
    if (std::none_of(streams.begin(), streams.end(),
                     [&](const StreamLife& other) { return other.id == stream.id; })) {
      streams.push_back(stream);
    }
  }
  if (OpenCapture* capture = CaptureOf(streams.front().id)) {
    return CaptureGroup(work, streams, *capture);
  }
  JoinStreams(streams, true);
  EmitCalls(work, streams.front());
  JoinStreams(streams, false);
}

// One node, which comes after what each of the streams has captured, and is what each has now.
void Importer::State::CaptureGroup(const NcclWork& work, const std::vector<StreamLife>& streams,
                                   OpenCapture& capture) {
  BeginBuilding();
  EmitCalls(work, streams.front());
  std::vector<NodeOp> made = EndBuilding();
  OpenCapture::Frontier before;
  for (const StreamLife& stream : streams) {
    const OpenCapture::Frontier& own = capture.streams[stream.id];
    before.insert(before.end(), own.begin(), own.end());
  }
  capture.streams[streams.front().id] = std::move(before);
  GraphNode& node = AddCaptured(capture, streams.front().id, 0);
  node.work = std::move(made);
  for (const StreamLife& stream : streams) {
    capture.streams[stream.id] = capture.streams[streams.front().id];
  }
}

void Importer::State::EmitCalls(const NcclWork& work, const StreamLife& stream) {
  const trace::NcclCall& first = work.calls.front();
  const bool one_kind = AllAgree(work.calls, [](const auto& call) { return RowOf(call).kind; });
  Op& op = EmitOn(OpKind::kCollective, stream, first.stack);
  op.object = work.comm.id;
  op.name = strings_.Intern(NameOf(work.calls));
  op.aux = static_cast<uint32_t>(one_kind ? RowOf(first).kind : CollectiveKind::kAllToAll);
  if (one_kind && AllAgree(work.calls, Partner)) op.value = Partner(first);
  // What is captured goes on when its graph is launched: not in the order of these calls.
  if (!building_) AddAsked(calls_of_rank_, work, op.id);
  for (const trace::NcclCall& call : work.calls) AddNcclAccesses(call, work.comm);
  if (!now_.life->notes.empty()) TakeNotes(op, first.stream);
  CheckOverlap(op, Queues(stream));
}

void Importer::State::AddNcclAccesses(const trace::NcclCall& call, const NcclMember& comm) {
  const std::optional<Touched> touched = TouchedBy(call, comm);
  if (!touched) return counts_.Add(Count::kNcclUnknownExtents);
  auto add = [&](const Bytes& bytes, uint8_t mode) {
    if (bytes.size == 0) return;
    const Range range = MakeRange(bytes.address, bytes.size);
    if (range.begin != range.end) AddCopySide({range, 0, Evidence::kExact}, mode);
  };
  add(touched->read, kRead);
  for (const Bytes& bytes : touched->written) add(bytes, kWrite);
}

// The first stream waits for the others before the operation, they for it after that.
void Importer::State::JoinStreams(const std::vector<StreamLife>& streams, bool before) {
  for (size_t i = 1; i < streams.size(); ++i) {
    const StreamLife& from = streams[before ? i : 0];
    const StreamLife& to = streams[before ? 0 : i];
    const EventId event = events_.Fresh();
    for (const OpKind kind :
         {OpKind::kEventRecord, OpKind::kStreamWaitEvent, OpKind::kEventDestroy}) {
      Op& op = kind == OpKind::kEventDestroy
                   ? Emit(kind)
                   : EmitOn(kind, kind == OpKind::kEventRecord ? from : to, 0);
      op.object = event;
      op.flags |= kSynthetic;
    }
  }
}

void Importer::State::On(const trace::NcclPlugIn&) { nccl_.tells = true; }

bool Importer::State::IsNcclKernel(StringId kernel) {
  auto [at, fresh] = nccl_.is_kernel.try_emplace(kernel);
  if (fresh) at->second = trace::IsNcclKernel(strings_.Get(kernel));
  return at->second;
}

// Whether a launch is NCCL's work for a collective that has its own record, or will have it. A
// kernel of NCCL's that is not means that collectives were not seen; it stays a launch of which
// nothing is known.
bool Importer::State::IsNcclsOwn(const trace::Launch& record, StringId kernel) {
  const bool own = (record.kind & kInsideCallBit) ||
                   ((record.kind & kByNcclBit) && (nccl_.nonblocking || nccl_.HasOpen()));
  if (own) {
    counts_.Add(Count::kNcclOwnLaunches);
    return true;
  }
  if (!IsNcclKernel(kernel) && !(record.kind & kByNcclBit)) return false;
  if (nccl_.tells) {
    if (nccl_.TakeLaunch(now_.thread)) counts_.Add(Count::kNcclUnseen);  // nothing was told of it
    nccl_.AddLaunch(now_.thread, {record.stream, record.context});
    return true;
  }
  counts_.Add(Count::kNcclUnseen);
  return false;
}

}  // namespace ss
