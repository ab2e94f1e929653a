#include "api.h"

#include <unistd.h>

#include "api_graph.h"

namespace ss::vgpu {

namespace {

thread_local std::vector<Context*>* thread_stack = nullptr;

// The main thread's outlives it: handlers of the process's exit still call the driver then.
struct StackEnd {
  ~StackEnd() {
    if (gettid() == getpid()) return;
    delete thread_stack;
    thread_stack = nullptr;
  }
};

}  // namespace

std::vector<Context*>& ContextStack(const Machine& machine) {
  thread_local StackEnd end;
  (void)end;
  if (!thread_stack) thread_stack = new std::vector<Context*>();
  std::vector<Context*>& stack = *thread_stack;
  thread_local uint64_t generation = 0;
  if (generation != machine.generation()) stack.clear();
  generation = machine.generation();
  while (!stack.empty() && stack.back() && !machine.contexts.Find(stack.back())) stack.pop_back();
  return stack;
}

bool ValidDevice(CUdevice device) {
  return device >= 0 && static_cast<uint64_t>(device) < options().devices;
}

Call::Call() : machine(Machine::Get()) {
  // After a fork the lock may be held by a thread that the child does not have: look before
  // locking.
  if (Forked()) {
    error = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (InHostFunction()) {
    error = CUDA_ERROR_NOT_PERMITTED;
    return;
  }
  lock = machine.Lock();
  if (!machine.started()) {
    error = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (machine.closed()) {
    error = CUDA_ERROR_DEINITIALIZED;
    return;
  }
  const auto& stack = ContextStack(machine);
  context = stack.empty() ? nullptr : stack.back();
}

CUresult Call::Find(CUstream handle, DefaultStream which, Stream** stream) {
  const bool legacy = handle == CU_STREAM_LEGACY || (!handle && which == DefaultStream::kLegacy);
  const bool per_thread =
      handle == CU_STREAM_PER_THREAD || (!handle && which == DefaultStream::kPerThread);
  if (legacy || per_thread) {
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    *stream = legacy ? context->legacy : machine.PerThread(context);
    return CUDA_SUCCESS;
  }
  auto* raw = reinterpret_cast<Stream*>(handle);
  if (!machine.streams.contains(raw)) return CUDA_ERROR_INVALID_HANDLE;
  *stream = raw;
  return CUDA_SUCCESS;
}

CUresult Call::Run(Stream& stream, NewOp what) {
  if (const CUresult refused = Implicit(stream)) return refused;
  if (stream.capture) return CaptureWork(stream, std::move(what));
  machine.Issue(stream, std::move(what));
  machine.HostStep(lock);
  return CUDA_SUCCESS;
}

CUresult Call::RunAndWait(Stream& stream, NewOp what) {
  if (const CUresult refused = Implicit(stream)) return refused;
  if (const CUresult refused = Capturing(stream)) return refused;
  return machine.Wait(lock, {machine.Issue(stream, std::move(what))});
}

}  // namespace ss::vgpu
