// The neutral program: what both front ends (litmus files, captured traces) lower to and what the
// model, the detectors and the test reference consume. Plain data, no behaviour, no CUDA.
//
// An Op is one call of one host thread, in the order in which the calls took effect. Memory is
// named by address: [begin, end) in one flat 64-bit space (rank in bits 48-62 where there are
// several, so that equal addresses of two processes do not meet). A buffer is a *tenancy* of a
// range: an address that is allocated twice is two BufferIds. Tenancies nest two deep: a kCaching
// block inside another buffer is the tenant of its bytes while it lives, the outer buffer that of
// the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/strings.h"
#include "src/program/shape.h"

namespace ss {

using OpId = uint64_t;      // display number of an operation: unique, increasing
using HostId = uint16_t;    // host thread (of one rank); dense
using StreamId = uint32_t;  // one life of a stream handle; never reused; 0 = none
using EventId = uint32_t;   // one life of an event handle; never reused; 0 = none
using BufferId = uint32_t;  // one tenancy; never reused; 0 = none
using StackId = uint32_t;   // interned call stack; 0 = none

enum class OpKind : uint8_t {
  // Work on a stream: takes time on the device, touches `accesses`.
  kKernel,  // flags: kFill for an allocator's initialising kernel, kPdl, kPdlWait, kLaunchEvent
            // (object = event)
  kCopy,    // accesses[0] = source (read), accesses[1] = destination (write); flags: kBlocking
  kMemset,  // accesses[0] = target (write); flags: kBlocking (cuMemset*), kFill
  kHostFn,  // callback in stream order; its accesses are the CPU's
  // Order.
  kEventRecord,      // stream, object = event; flags: kExternal
  kStreamWaitEvent,  // stream, object = event; flags: kExternal; aux = producer StreamId where the
                     // wait was
                     // written as wait_stream (event then is a fresh, unnamed one)
  kStreamSync,       // stream
  kEventSync,        // object = event
  kDeviceSync,       // aux = device, value = rank, object = context + 1 (0 = every context of the
                     // device)
  kStreamQuery,      // stream; flags: kNotReady, kAllocatorInternal
  kEventQuery,       // object = event; flags: kNotReady, kAllocatorInternal
  kHandoff,          // host thread `object` continues after `host` got here
  // Host memory touched by the CPU. aux = 1: inside the host function that `value` (an OpId) queued
  // on
  // `stream`: the access belongs to that operation's lane and epoch, not to `host`.
  kHostAccess,
  // Memory. accesses[0] = the range, its MemoryKind; object = BufferId; name = the buffer's name, 0
  // in a
  // recorded program whose buffer has none (BufferLabel() then makes one of the id).
  kAlloc,         // stream = owner (kCaching), aux = allocator pool, value = device | rank << 32
  kFree,          // object = BufferId; a caching block may go back to its owner at once
  kAllocAsync,    // stream: cuMemAllocAsync; flags: kReuse where the range was another tenant's
  kFreeAsync,     // stream, object = BufferId
  kRecordStream,  // stream, object = BufferId
  // Life cycle. kHostBegin and kStreamCreate come again, with the same id and a new name, for a
  // rename.
  kHostBegin,      // host thread `host` (name) appears; aux = rank
  kStreamCreate,   // stream, name; aux = StreamType, value = device | context << 16 | rank << 32;
                   // object = of a green context: the number of its primary one + 1
  kStreamDestroy,  // stream
  kEventDestroy,   // object = event
  // Later rules (SEMANTICS 11, 14, 23): parsed, lowered, and modelled where `Capabilities` says so.
  kSignal,        // stream, object = flag, value; flags: kNoBarrier; aux = rank that owns the flag
  kAwait,         // stream, object = flag, value; aux = rank that owns the flag
  kCaptureBegin,  // stream, object = graph
  kCaptureEnd,    // object = graph
  kGraphLaunch,   // stream, object = graph
  kCollective,  // stream, object = communicator, aux = CollectiveKind, value = root or peer rank +
                // 1, 0 = none
  // Recorded programs only.
  kSyncEnd,     // the call that began as op `value` (kSyncBegin) returns: `host` acquires what it
                // waited for
  kTagRelease,  // object = tag: what `host` knows here ...
  kTagAcquire,  // ... is known after a later acquire of the tag, by whatever host thread
  kHostEnd,     // host thread `host` exits; a later kHostBegin may use the id again, for another
                // thread
  kBufferName,  // object = BufferId, name; accesses[0] = the named range: all of it, or a part
  // Of graphs in recorded programs kCaptureBegin, kCaptureEnd and kGraphLaunch carry the name. A
  // graph that is captured anew keeps its lanes: it was changed.
  kGraphDestroy,  // object = graph: it is not launched any more
};

enum OpFlags : uint32_t {
  kFill = 1 << 0,               // an allocator's initialising write
  kBlocking = 1 << 1,           // the blocking form of a copy or memset
  kNotReady = 1 << 2,           // the query said "not ready"
  kAllocatorInternal = 1 << 3,  // called from inside an allocator (SEMANTICS 6)
  kExternal = 1 << 4,           // external event node inside a capture
  kPdl = 1 << 5,                // programmatic stream serialisation ...
  kPdlWait = 1 << 6,            // ... with a grid-dependency wait before the first access
  kLaunchEvent = 1 << 7,        // `object` fires when the kernel's blocks start
  kNoBarrier = 1 << 8,          // kSignal: no memory barrier before it; kFree: it waits for nothing
  kReuse = 1 << 9,
  kAmbiguousOrder = 1 << 10,  // overlapped another thread's call on the same stream or event
  kPrivate = 1 << 11,         // allocation from inside cuBLAS, cuDNN, NCCL (SEMANTICS 21)
  kPolling = 1 << 12,         // kernel synchronises with others through memory (SEMANTICS 22a)
  kProcessExit = 1 << 13,     // issued during process exit: frees are not judged
  // A kFree that is not judged either: nobody said when the tenancy ended (the range came back from
  // its allocator, the context went), or an inner allocator handed the bytes out and was judged for
  // them.
  kImplicitEnd = 1 << 14,
  // The call waits from here to a later kSyncEnd, and other threads' calls lie between: what is
  // waited for is the state here, and `host` knows of it only there. On any sync and on kBlocking
  // copies and memsets.
  kSyncBegin = 1 << 15,
  // Put in by a graph launch, its fork and join or the end of what an earlier launch left in
  // storage that this one uses again: no advice is given on it, and record_stream does not hold it
  // up.
  kSynthetic = 1 << 16,
  // When a kAwait passes, by the flag's value v; none of the three: v == value.
  kAwaitAtLeast = 1 << 17,  // v - value >= 0, as signed numbers
  kAwaitAnyBit = 1 << 18,   // (v & value) != 0
  kAwaitAnyZero = 1 << 19,  // ~(v | value) != 0
  kAwaitNarrow = 1 << 20,   // numbers of 32 bits, not of 64
  // The rest of the kernel directly before it in the stream, which was launched programmatically
  // and touches memory on both sides of its grid-dependency wait: the first part is kPdl, this one
  // kPdlWait.
  kAfterGridWait = 1 << 21,
  // The kernel's code lets no dependent start early: what is launched behind it programmatically
  // starts after its blocks have ended (SEMANTICS 13).
  kNoTrigger = 1 << 22,
  // Of processes that share memory (SEMANTICS 8). kShared: uses what another process uses, too; in
  // the default mode `host` acquires what the threads of the others know. kForeign: waits for an
  // event that a process without a trace may have recorded last.
  kShared = 1 << 23,
  kForeign = 1 << 24,
  // Copies (SEMANTICS 9). The source is read out of the stream's order: at any time from the call
  // to the copy's end, or before the call returns.
  kSourceAnyTime = 1 << 25,
  kSourceInCall = 1 << 26,
  // Of a batch: they begin together and are in no order. The first one, and those behind it.
  kBatchBegin = 1 << 27,
  kSameBatch = 1 << 28,
};

inline constexpr uint32_t kSourceApart = kSourceAnyTime | kSourceInCall;

enum class MemoryKind : uint8_t {
  kUnknown,
  kDevice,
  kPinned,
  kPageable,
  kManaged,
  kCaching,
  kPool
};
// kGraph: a branch of a graph's launches, named GRAPH/STREAM; never made by a program. kContext:
// all streams of a context at once, for events over it (SEMANTICS 15): nothing runs there.
enum class StreamType : uint8_t { kNonBlocking, kBlocking, kLegacy, kPerThread, kGraph, kContext };
enum class CollectiveKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kBarrier,
  kSend,
  kRecv,
  kReduce,
  kGather,  // everybody's data to the root
  kScatter  // the root's to everybody
};

// Direction as bits: an atomic conflicts with plain accesses and not with atomics.
enum AccessMode : uint8_t { kRead = 1, kWrite = 2, kAtomic = 4 };

// What decided a direction or an extent, strongest first (DESIGN decision 3).
enum class Evidence : uint8_t {
  kExact,
  kAnnotated,
  kLearned,
  kStatic,
  kDeclared,
  kSchema,
  kAssumed
};

struct Access {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint8_t mode = 0;  // AccessMode bits
  MemoryKind memory = MemoryKind::kUnknown;
  Evidence direction = Evidence::kExact;
  Evidence extent = Evidence::kExact;
  ShapeId shape = 0;  // in the program's table: rows from `begin` on; 0 = every byte of the range
};

struct Op {
  OpKind kind{};
  uint32_t flags = 0;
  HostId host = 0;
  StreamId stream = 0;
  uint32_t object = 0;
  uint32_t aux = 0;
  uint64_t value = 0;
  uint32_t access_begin = 0;  // into the accesses that travel with the op
  uint32_t access_count = 0;
  StringId name = 0;   // kernel name, buffer name, stream name, ...
  StringId label = 0;  // litmus `as LABEL`
  StackId stack = 0;
  uint32_t line = 0;  // litmus source line, 0 = none
  OpId id = 0;
};

// A whole program in memory. Streaming front ends feed the same Ops one by one instead.
struct Program {
  std::string source;  // file name for messages
  std::string title;
  bool strict = false;         // SEMANTICS 3
  bool strict_stated = false;  // the file says which mode
  bool recorded = false;       // from a trace: lifetimes without a next allocation are `possible`
  mutable StringTable
      strings;        // interning a name changes nothing that a reader of the program sees
  ShapeTable shapes;  // of accesses that leave gaps
  std::vector<std::string> event_names;  // by EventId; may be shorter than the ids (unnamed events)
  std::vector<std::string> flag_names;   // by flag id
  std::vector<std::string> comm_names;   // by communicator id
  std::vector<std::string> graph_names;  // by graph id
  std::vector<Op> ops;
  std::vector<Access> accesses;
};

}  // namespace ss
