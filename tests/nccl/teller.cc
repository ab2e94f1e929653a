#include "tests/nccl/teller.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/capture/nccl_profiler.h"

namespace {

namespace profiler = ss::capture::profiler;
using profiler::Event;

const char* const kTypes[] = {
#define NCCL_DATATYPE(number, name, bytes) "nccl" #name,
#include "src/trace/nccl.def"
};

uint8_t CodeOf(const char* function) {
#define NCCL_KIND(number, name, movement, code) \
  if (strcmp(function, #name) == 0) return static_cast<uint8_t>(code);
#include "src/trace/nccl.def"
  return 0xff;
}

bool IsPointToPoint(const Asked& asked) {
  return strcmp(asked.function, "Send") == 0 || strcmp(asked.function, "Recv") == 0;
}

// NCCL has no word for ncclUint8.
const char* TypeOf(int type) { return type == 1 ? "Unknown" : kTypes[type]; }

// Room for the largest event, with rubbish where NCCL leaves some: the byte-wide type of the older
// versions has none of its neighbours cleared.
struct Room {
  alignas(8) unsigned char bytes[160];
  Event* event() { return reinterpret_cast<Event*>(bytes); }
  template <class Body>
  Body* body() {
    return reinterpret_cast<Body*>(event()->body);
  }
};

Room MakeEvent(int version, uint64_t type, void* parent, int rank) {
  Room room;
  memset(room.bytes, version < 5 ? 0xa5 : 0, sizeof room.bytes);
  if (version < 5) {
    room.bytes[0] = static_cast<unsigned char>(type);
  } else {
    room.event()->type = type;
  }
  room.event()->parent = parent;
  room.event()->rank = rank;
  return room;
}

template <class Body>
void FillCollective(Body* body, const Asked& asked) {
  body->send = asked.send;
  body->receive = asked.receive;
  body->count = asked.count;
  body->root = asked.peer;
}

template <class Body>
void FillPointToPoint(Body* body, const Asked& asked) {
  body->buffer = asked.send ? const_cast<void*>(asked.send) : asked.receive;
  body->count = asked.count;
  body->peer = asked.peer;
}

template <class Body>
void Name(Body* body, const Asked& asked) {
  body->function = asked.function;
  body->datatype = TypeOf(asked.type);
}
template <class Body>
void NameByCode(Body* body, const Asked& asked) {
  body->function = CodeOf(asked.function);
  body->datatype = static_cast<uint8_t>(asked.type);
}

template <class Collective, class PointToPoint, class Then>
void Fill(Room& room, const Asked& asked, Then then) {
  if (IsPointToPoint(asked)) {
    FillPointToPoint(room.body<PointToPoint>(), asked);
    then(room.body<PointToPoint>());
  } else {
    FillCollective(room.body<Collective>(), asked);
    then(room.body<Collective>());
  }
}

void FillFor(int version, Room& room, const Asked& asked, uint64_t hash) {
  namespace p = profiler;
  if (version == 1) {
    Fill<p::v1::Collective, p::v1::PointToPoint>(room, asked, [&](auto* body) {
      NameByCode(body, asked);
      body->hash = hash;
    });
  } else if (version < 4) {
    Fill<p::v2::Collective, p::v2::PointToPoint>(room, asked, [&](auto* body) {
      Name(body, asked);
      body->hash = hash;
    });
  } else {
    Fill<p::v4::Collective, p::v4::PointToPoint>(room, asked,
                                                 [&](auto* body) { Name(body, asked); });
  }
}

template <class Init>
const profiler::Table<Init>* As(const void* table) {
  return static_cast<const profiler::Table<Init>*>(table);
}

// The rest of the tables is alike.
const profiler::Table<profiler::Init1>* Rest(const void* table) {
  return As<profiler::Init1>(table);
}

}  // namespace

Teller::Teller(int rank, int ranks, uint64_t hash) : rank_(rank), hash_(hash) {
  const char* library = getenv("NCCL_PROFILER_PLUGIN");
  const char* version = getenv("NCCL_STAND_IN_VERSION");
  void* handle = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!handle) return;
  version_ = version ? atoi(version) : 5;
  char name[32];
  snprintf(name, sizeof name, "ncclProfiler_v%d", version_);
  table_ = dlsym(handle, name);
  if (!table_) return;
  if (version_ < 4) {
    As<profiler::Init1>(table_)->init(&context_, &mask_);
  } else if (version_ == 4) {
    As<profiler::Init4>(table_)->init(&context_, &mask_, "", hash, 1, ranks, rank, nullptr);
  } else {
    As<profiler::Init5>(table_)->init(&context_, hash, &mask_, "", 1, ranks, rank, nullptr);
  }
}

Teller::~Teller() {
  if (table_) Rest(table_)->finalize(context_);
}

void* Teller::Call(const Asked& asked, bool captured) {
  const bool pair = IsPointToPoint(asked);
  const uint64_t type = pair ? profiler::kPointToPointCall : profiler::kCollectiveCall;
  if (!table_ || version_ < 5 || !(static_cast<uint64_t>(mask_) & type)) return nullptr;
  Room room = MakeEvent(version_, type, nullptr, 0);
  if (pair) {
    auto* body = room.body<profiler::v5::PointToPointCall>();
    Name(body, asked);
    body->count = asked.count;
    body->stream = asked.stream;
    body->captured = captured;
  } else {
    auto* body = room.body<profiler::v5::CollectiveCall>();
    Name(body, asked);
    body->count = asked.count;
    body->root = asked.peer;
    body->stream = asked.stream;
    body->captured = captured;
  }
  void* handle = nullptr;
  Rest(table_)->start(context_, &handle, room.event());
  if (handle) Rest(table_)->stop(handle);
  return handle;
}

void Teller::Plan(const Asked& asked, void* call) {
  if (!table_ || !(static_cast<uint64_t>(mask_) & profiler::kGroup)) return;
  const uint64_t type = IsPointToPoint(asked) ? profiler::kPointToPoint : profiler::kCollective;
  void *plan = nullptr, *operation = nullptr;
  Room group = MakeEvent(version_, profiler::kGroup, nullptr, rank_);
  Rest(table_)->start(context_, &plan, group.event());
  Asked told = asked;
  if (strcmp(asked.function, "AllGather") == 0 || strcmp(asked.function, "Broadcast") == 0) {
    told.count *= sizeof(float);  // as NCCL plans them: bytes. The tests have floats only.
    told.type = 0;
  }
  Room room = MakeEvent(version_, type, version_ < 5 ? plan : call, rank_);
  FillFor(version_, room, told, hash_);
  Rest(table_)->start(context_, &operation, room.event());
  if (operation) Rest(table_)->stop(operation);
  if (plan) Rest(table_)->stop(plan);
}
