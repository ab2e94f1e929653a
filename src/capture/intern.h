// Names, functions and contexts that records refer to: told to the collector once, before the call
// that needs them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "src/capture/session.h"

namespace ss::capture {

// Id of a string; its Text record goes out with the first use.
uint64_t TextId(Thread& thread, const char* text);

// Where the parameters of a kernel lie.
struct FunctionInfo {
  uint64_t function;
  std::atomic<uint32_t> generation;  // of the modules: an unloaded module's handles come back
  bool layout_known;
  uint16_t count;
  uint16_t capacity;
  struct Parameter {
    uint32_t offset;
    uint32_t size;
  } parameters[1];
};
// Asks the driver and emits the Function record at the first launch. Null when memory ran out.
const FunctionInfo* TheFunction(Thread& thread, CUfunction function);
void ForgetFunctions();  // a module was unloaded

// The current context (0 = none), after its ContextCreate record.
uint64_t CurrentContext(Thread& thread);
// The context of a stream (resolved handle).
uint64_t ContextOf(Thread& thread, uint64_t stream);
// The one that there is; 0 = none, or several.
uint64_t OnlyContext();
// Emits ContextCreate unless it was emitted. Device is asked for.
void SeenContext(Thread& thread, uint64_t context);
// `primary`: of a green context, the one that includes it; 0 = it is a full one.
void NoteContext(Thread& thread, uint64_t context, CUdevice device, uint64_t primary = 0);
CUdevice DeviceOf(uint64_t context);
// True when the context had been seen: its ContextDestroy is due.
bool ForgetContext(Thread& thread, uint64_t context);
// Of a CUgreenCtx the CUcontext that it is converted to, after its record; 0 = unknown (green.cc).
uint64_t GreenContext(Thread& thread, void* green);
bool InitGreens();
void ResetGreens();  // in a forked child

void StreamBorn(uint64_t stream, uint64_t context);
void StreamGone(uint64_t stream);

bool InitInterning();
void ResetInterning();  // in a forked child

}  // namespace ss::capture
