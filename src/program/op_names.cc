#include "src/program/op_names.h"

namespace ss {

const char* Name(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel:
      return "kernel";
    case OpKind::kCopy:
      return "copy";
    case OpKind::kMemset:
      return "memset";
    case OpKind::kHostFn:
      return "host_fn";
    case OpKind::kEventRecord:
      return "record";
    case OpKind::kStreamWaitEvent:
      return "wait";
    case OpKind::kStreamSync:
      return "sync stream";
    case OpKind::kEventSync:
      return "sync event";
    case OpKind::kDeviceSync:
      return "sync device";
    case OpKind::kStreamQuery:
      return "query stream";
    case OpKind::kEventQuery:
      return "query event";
    case OpKind::kHandoff:
      return "handoff";
    case OpKind::kHostAccess:
      return "host access";
    case OpKind::kAlloc:
      return "alloc";
    case OpKind::kFree:
      return "free";
    case OpKind::kAllocAsync:
      return "malloc_async";
    case OpKind::kFreeAsync:
      return "free_async";
    case OpKind::kRecordStream:
      return "record_stream";
    case OpKind::kHostBegin:
      return "host thread";
    case OpKind::kStreamCreate:
      return "create stream";
    case OpKind::kStreamDestroy:
      return "destroy stream";
    case OpKind::kEventDestroy:
      return "destroy event";
    case OpKind::kSignal:
      return "signal";
    case OpKind::kAwait:
      return "await";
    case OpKind::kCaptureBegin:
      return "capture";
    case OpKind::kCaptureEnd:
      return "end capture";
    case OpKind::kGraphLaunch:
      return "launch graph";
    case OpKind::kCollective:
      return "collective";
    case OpKind::kSyncEnd:
      return "end of sync";
    case OpKind::kTagRelease:
      return "release";
    case OpKind::kTagAcquire:
      return "acquire";
    case OpKind::kHostEnd:
      return "thread end";
    case OpKind::kBufferName:
      return "name buffer";
    case OpKind::kGraphDestroy:
      return "destroy graph";
  }
  return "?";
}

const char* Name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      return "unknown";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kCaching:
      return "caching allocator";
    case MemoryKind::kPool:
      return "stream-ordered pool";
  }
  return "?";
}

const char* Name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kExact:
      return "exact";
    case Evidence::kAnnotated:
      return "annotated";
    case Evidence::kLearned:
      return "learned";
    case Evidence::kStatic:
      return "static";
    case Evidence::kDeclared:
      return "declared";
    case Evidence::kSchema:
      return "schema";
    case Evidence::kAssumed:
      return "assumed";
  }
  return "?";
}

std::string BufferLabel(const StringTable& strings, StringId name, BufferId id) {
  return name != 0 || id == 0 ? strings.Get(name) : "alloc#" + std::to_string(id - 1);
}

std::string ModeName(uint8_t mode) {
  std::string text;
  auto add = [&](uint8_t bit, const char* word) {
    if (mode & bit) text += (text.empty() ? "" : "+") + std::string(word);
  };
  add(kRead, "read");
  add(kWrite, "write");
  add(kAtomic, "atomic");
  return text;
}

}  // namespace ss
