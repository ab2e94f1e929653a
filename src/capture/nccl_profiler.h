// NCCL's profiler interface, versions 1 to 5, as far as it is read here: what NCCL 2.23 and later
// hand to a plug-in. Written down from the declarations in NCCL's repository
// (src/include/plugin/profiler/profiler_v1.h to profiler_v5.h), where the names differ.
//
//   version  NCCL          says of an operation
//   1        2.23          buffers, count, rank, hash of the communicator; numbers for its names
//   2, 3     2.24, 2.26    the same with words
//   4        2.27          the number of ranks as well, when a communicator is made
//   5        2.28 and on   the stream as well, at the call
#pragma once

#include <cstddef>
#include <cstdint>

namespace ss::capture::profiler {

// Event::type, which is one byte wide before version 5. Others are not asked for.
constexpr uint64_t kGroup = 1, kCollective = 2, kPointToPoint = 4;
constexpr uint64_t kCollectiveCall = 1 << 9, kPointToPointCall = 1 << 10;  // version 5

struct Event {
  uint64_t type;
  void* parent;
  int32_t rank;
  alignas(8) unsigned char body[1];  // one of those below
};
static_assert(offsetof(Event, parent) == 8 && offsetof(Event, body) == 24);

namespace v1 {
struct Collective {
  const char* communicator;
  uint64_t hash;
  uint64_t sequence;
  uint8_t function;
  const void* send;
  void* receive;
  size_t count;
  int root;
  uint8_t datatype;
};
static_assert(offsetof(Collective, send) == 32 && offsetof(Collective, datatype) == 60);
struct PointToPoint {
  const char* communicator;
  uint64_t hash;
  uint8_t function;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int peer;
};
static_assert(offsetof(PointToPoint, buffer) == 24 && offsetof(PointToPoint, peer) == 48);
}  // namespace v1

namespace v2 {  // and 3
struct Collective {
  const char* communicator;
  uint64_t hash;
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
};
static_assert(offsetof(Collective, send) == 32 && offsetof(Collective, datatype) == 64);
struct PointToPoint {
  const char* communicator;
  uint64_t hash;
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};
static_assert(offsetof(PointToPoint, buffer) == 24 && offsetof(PointToPoint, peer) == 48);
}  // namespace v2

namespace v4 {  // and 5
struct Collective {
  uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
};
static_assert(offsetof(Collective, send) == 16 && offsetof(Collective, datatype) == 48);
struct PointToPoint {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};
static_assert(offsetof(PointToPoint, buffer) == 8 && offsetof(PointToPoint, peer) == 32);
}  // namespace v4

namespace v5 {
struct CollectiveCall {
  const char* function;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
static_assert(offsetof(CollectiveCall, stream) == 32 && offsetof(CollectiveCall, captured) == 40);
struct PointToPointCall {
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};
static_assert(offsetof(PointToPointCall, stream) == 24);
}  // namespace v5

// The table that NCCL looks up by the name ncclProfiler_v<N>. Results are ncclResult_t.
template <class Init>
struct Table {
  const char* name;
  Init init;
  int (*start)(void* communicator, void** handle, Event* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, void* arguments);
  int (*finalize)(void* communicator);
};
using Init1 = int (*)(void** communicator, int* mask);
using Init4 = int (*)(void** communicator, int* mask, const char* name, uint64_t hash, int nodes,
                      int ranks, int rank, void* log);
using Init5 = int (*)(void** communicator, uint64_t hash, int* mask, const char* name, int nodes,
                      int ranks, int rank, void* log);
static_assert(sizeof(Table<Init1>) == 6 * sizeof(void*));

}  // namespace ss::capture::profiler
