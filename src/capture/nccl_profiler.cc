// The tables that NCCL looks for, and what its events say, whatever their version.
#include "src/capture/nccl_profiler.h"

#include <string.h>

#include "src/capture/nccl_plugin.h"
#include "src/capture/nccl_record.h"

namespace ss::capture {
namespace {

using namespace profiler;

constexpr int kMaskOfOperations = kGroup | kCollective | kPointToPoint;
constexpr int kMaskOfCalls = kCollectiveCall | kPointToPointCall;
constexpr int kNobody = -1;
constexpr uint64_t kUint8 = 1;  // the one type that NCCL 2.23 to 2.30 have no word for

uint64_t KindOf(const char* function) {
#define NCCL_KIND(number, name, movement, code) \
  if (function && strcmp(function, #name) == 0) return number;
#include "src/trace/nccl.def"
  return 0;
}

uint64_t KindOf(uint8_t function) {
#define NCCL_KIND(number, name, movement, code) \
  if (static_cast<int>(function) == (code)) return number;
#include "src/trace/nccl.def"
  return 0;
}

uint64_t TypeOf(const char* datatype) {
#define NCCL_DATATYPE(number, name, bytes) \
  if (datatype && strcmp(datatype, "nccl" #name) == 0) return number;
#include "src/trace/nccl.def"
  return kUint8;
}

uint64_t TypeOf(uint8_t datatype) { return datatype; }

// As the intercepted functions say it: a root where there is one.
int64_t RootOf(uint64_t kind, int root) {
  const bool rooted = kind == trace::kNcclBroadcast || kind == trace::kNcclReduce ||
                      kind == trace::kNcclGather || kind == trace::kNcclScatter;
  return rooted ? root : kNobody;
}

template <class Body>
ToldOperation OfCollective(const Body& body) {
  const uint64_t kind = KindOf(body.function);
  return {.kind = kind,
          .send = body.send,
          .receive = body.receive,
          .count = body.count,
          .datatype = TypeOf(body.datatype),
          .peer = RootOf(kind, body.root)};
}

template <class Body>
ToldOperation OfPointToPoint(const Body& body) {
  const uint64_t kind = KindOf(body.function);
  return {.kind = kind,
          .send = kind == trace::kNcclSend ? body.buffer : nullptr,
          .receive = kind == trace::kNcclSend ? nullptr : body.buffer,
          .count = body.count,
          .datatype = TypeOf(body.datatype),
          .peer = body.peer};
}

template <class Body>
const Body& As(const Event& event) {
  return *reinterpret_cast<const Body*>(event.body);
}

template <class Collective, class PointToPoint>
ToldOperation OperationOf(const Event& event, bool collective) {
  return collective ? OfCollective(As<Collective>(event)) : OfPointToPoint(As<PointToPoint>(event));
}

// The hash stands in the events before version 4.
template <class Collective, class PointToPoint>
ToldOperation HashedOperationOf(const Event& event, bool collective) {
  ToldOperation told = OperationOf<Collective, PointToPoint>(event, collective);
  told.hash = collective ? As<Collective>(event).hash : As<PointToPoint>(event).hash;
  return told;
}

template <class Body>
ToldCall CallOf(const Event& event) {
  const Body& body = As<Body>(event);
  return {body.count, TypeOf(body.datatype), body.stream, body.captured};
}

ToldOperation Read(int version, const Event& event, bool collective) {
  if (version == 1) return HashedOperationOf<v1::Collective, v1::PointToPoint>(event, collective);
  if (version <= 3) return HashedOperationOf<v2::Collective, v2::PointToPoint>(event, collective);
  return OperationOf<v4::Collective, v4::PointToPoint>(event, collective);
}

template <int version>
int Start(void* comm, void** handle, Event* event) {
  const void* caller = __builtin_return_address(0);
  auto cfa = reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa());
  if (handle) *handle = nullptr;
  if (!comm || !handle || !event) return kNcclSuccess;
  switch (version < 5 ? event->type & 0xff : event->type) {
    case kGroup:
      *handle = ToldGroup(comm);
      break;
    case kCollectiveCall:
      *handle = ToldCallBegins(comm, CallOf<v5::CollectiveCall>(*event), caller, cfa);
      break;
    case kPointToPointCall:
      *handle = ToldCallBegins(comm, CallOf<v5::PointToPointCall>(*event), caller, cfa);
      break;
    case kCollective:
    case kPointToPoint: {
      const bool collective = (event->type & 0xff) == kCollective;
      ToldOperationOf(comm, event->rank, version < 5 ? nullptr : event->parent,
                      Read(version, *event, collective), caller, cfa);
      break;
    }
    default:
      break;
  }
  return kNcclSuccess;
}

int Stop(void* handle) {
  ToldStop(handle);
  return kNcclSuccess;
}

int State(void*, int, void*) { return kNcclSuccess; }

int Finalize(void* comm) {
  if (comm) ToldCommEnd(comm);
  return kNcclSuccess;
}

int Begin(void** comm, int* mask, int wanted, const ToldBirth& birth, const void* caller) {
  *comm = ToldComm(birth, caller);
  *mask = *comm ? wanted : 0;
  return kNcclSuccess;
}

template <int version>
int Init(void** comm, int* mask) {
  return Begin(comm, mask, kMaskOfOperations, {.version = version}, __builtin_return_address(0));
}

int InitFour(void** comm, int* mask, const char*, uint64_t hash, int, int ranks, int rank, void*) {
  return Begin(comm, mask, kMaskOfOperations, {4, hash, rank, static_cast<uint64_t>(ranks)},
               __builtin_return_address(0));
}

int InitFive(void** comm, uint64_t hash, int* mask, const char*, int, int ranks, int rank, void*) {
  return Begin(comm, mask, kMaskOfOperations | kMaskOfCalls,
               {5, hash, rank, static_cast<uint64_t>(ranks)}, __builtin_return_address(0));
}

constexpr char kName[] = "StreamSan";

}  // namespace

#define SS_PROFILER(version, InitType, init)                                           \
  extern "C" [[gnu::visibility("default"), gnu::used]] const profiler::Table<InitType> \
      ncclProfiler_v##version = {kName, init, Start<version>, Stop, State, Finalize};
SS_PROFILER(1, profiler::Init1, Init<1>)
SS_PROFILER(2, profiler::Init1, Init<2>)
SS_PROFILER(3, profiler::Init1, Init<3>)
SS_PROFILER(4, profiler::Init4, InitFour)
SS_PROFILER(5, profiler::Init5, InitFive)

}  // namespace ss::capture
