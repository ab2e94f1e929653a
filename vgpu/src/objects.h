// What the handles of the driver's interface point to. Plain data under the machine's lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/image.h"

namespace ss::vgpu {

struct Stream;
struct Context;
struct Capture;
struct GraphNode;

enum class Work : uint8_t { kMarker, kKernel, kCopy, kMemset, kHostFunction };

// One operation in a stream. It may start when `after` are done and it heads its stream's queue;
// between two of its slices, work of other streams may run.
struct Op {
  uint64_t id = 0;  // issue order, from 1
  Work work{};
  Stream* stream = nullptr;  // valid until done
  std::string name;
  std::vector<std::shared_ptr<Op>> after;
  uint32_t slices = 1;
  uint32_t next_slice = 0;
  std::function<void(uint32_t slice)> run;
  std::function<bool()> gate;  // it may not start before this holds
  bool by_cpu = false;         // a thread of the program may make it hold
  uint64_t rank = 0;           // lazy: place in its plan, lowest first
  bool needed = false;         // some host thread waits for it, or for what comes after it
  bool outside = false;        // handed to the thread of host functions
  bool running = false;        // a slice is being executed
  bool done = false;
  uint64_t done_step = 0;  // the machine's clock at completion
};
using OpPtr = std::shared_ptr<Op>;

// What a new operation is, apart from its place.
struct NewOp {
  Work work{};
  std::string name;
  uint32_t slices = 1;
  std::function<void(uint32_t)> run;
  std::vector<OpPtr> after;
  std::function<bool()> gate;  // it may not start before this holds
  bool by_cpu = false;         // a thread of the program may make it hold
};

// What is queued right before `op` in its stream, or null.
Op* Predecessor(const Op& op);

// kInner: of the driver's own, for events over a context.
enum class StreamKind : uint8_t { kNonBlocking, kBlocking, kLegacy, kPerThread, kInner };

struct Stream {
  uint64_t id = 0;  // creation order over the whole machine, from 1
  Context* context = nullptr;
  StreamKind kind{};
  int priority = 0;
  uint64_t thread = 0;  // kPerThread: whose
  std::deque<OpPtr> queue;
  OpPtr tail;                        // last operation issued, done or not; null = none yet
  bool destroyed = false;            // lives on until its queue is empty
  Capture* capture = nullptr;        // under way on it
  std::vector<GraphNode*> frontier;  // what its next node comes after
};

struct Context {
  uint64_t id = 0;
  int device = 0;
  bool primary = false;
  unsigned flags = 0;
  int retained = 0;  // primary: cuDevicePrimaryCtxRetain calls outstanding
  std::map<const Stream*, std::unique_ptr<Stream>> streams;
  Stream* legacy = nullptr;
  std::map<uint64_t, Stream*> per_thread;  // by thread number
  Context* green_of = nullptr;             // its device's primary context; null: a full context
  // Made when first needed: behind each record all that the context had queued, and what the
  // context was made to wait for.
  Stream* records = nullptr;
  Stream* waits = nullptr;
};

// What memory, modules and events belong to: a green context has streams alone.
inline Context* RootOf(Context* context) { return context->green_of ? context->green_of : context; }

class SharedEvent;

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<SharedEvent> shared;  // with other processes; null: it is not
  uint64_t own_record = 0;              // number of `record` there
  OpPtr record;                         // most recent; null = never recorded
  const Capture* capture = nullptr;     // of the most recent record, if that was captured
  std::vector<GraphNode*> nodes;        // what it stands for there
};

struct Module;

// A kernel of a loaded image. CUfunction and CUkernel are both pointers to one of these.
struct Function {
  std::string name;
  Module* module = nullptr;
  vgpu_run_block run = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> parameters;  // offset, size
  uint32_t parameter_bytes = 0;
};

struct Module {
  Context* context = nullptr;  // null: a library, usable in every context
  Module* library = nullptr;   // of which this is the module in one context; null: loaded as such
  std::vector<std::unique_ptr<Function>> functions;
};

}  // namespace ss::vgpu
