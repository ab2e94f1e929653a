// What the CPU's operators do to pinned memory.
#ifndef STREAMSAN_TORCH_HOST_ACCESSES_H_
#define STREAMSAN_TORCH_HOST_ACCESSES_H_

#include <ATen/record_function.h>

#include <vector>

#include "_torch_arguments.h"
#include "_torch_operators.h"
#include "_torch_pinned.h"
#include "_torch_tensors.h"

namespace {

constexpr uint32_t kIdle = 4096;  // operators whose arguments held nothing, before they are let go

bool PinnedRange(const at::Tensor& tensor, HostAccess* access) {
  access->base = BaseOf(tensor);
  if (!access->base || !g_pinned.Contains(access->base)) return false;
  access->bytes = BytesOf(tensor);
  return true;
}

// False: the operator is the device's, and what it does to pinned memory are the driver's copies.
bool OnTheCpu(const c10::IValue& input) {
  if (input.isTensor()) return !input.toTensor().defined() || input.toTensor().is_cpu();
  if (input.isDevice()) return input.toDevice().is_cpu();
  return true;
}

struct Argument {
  uint32_t at;
  HostAccess access;
};

constexpr uint32_t kDevices = ~0u;

// How many arguments are pinned (few operators have any), or kDevices.
uint32_t FindPinned(c10::ArrayRef<const c10::IValue> inputs, Argument* found) {
  uint32_t count = 0;
  auto look = [&](uint32_t at, const at::Tensor& tensor) {
    if (count < kMaxHostAccesses && PinnedRange(tensor, &found[count].access))
      found[count++].at = at;
  };
  for (uint32_t at = 0; at < inputs.size(); ++at) {
    const c10::IValue& input = inputs[at];
    if (!OnTheCpu(input)) return kDevices;
    if (input.isTensor() && input.toTensor().defined()) look(at, input.toTensor());
    if (!input.isTensorList()) continue;
    for (const at::Tensor& tensor : input.toTensorVector()) {
      if (!tensor.is_cpu()) return kDevices;
      look(at, tensor);
    }
  }
  return count;
}

// What a CPU operator does to pinned memory, as its schema says. It is told at its end, by the
// innermost operator that has the memory for an argument: that one does the work, or has the driver
// do it.
void FindHostAccesses(const at::RecordFunction& fn, Frame& frame, Frame* parent) {
  Argument found[kMaxHostAccesses];
  uint32_t count = FindPinned(fn.inputs(), found);
  if (count == 0) return;
  if (parent) parent->host_accesses = 0;
  if (count == kDevices) return;
  const std::vector<uint8_t>& modes = frame.op->signature.modes;
  for (uint32_t i = 0; i < count; ++i) {
    if (found[i].at >= modes.size()) continue;
    HostAccess& access = frame.host[frame.host_accesses++] = found[i].access;
    access.mode = modes[found[i].at] & kWrites ? STREAMSAN_WRITE : STREAMSAN_READ;
  }
}

void TellHostAccesses(const Frame& frame) {
  for (uint32_t i = 0; i < frame.host_accesses; ++i) {
    const HostAccess& access = frame.host[i];
    streamsan_host_access(reinterpret_cast<void*>(access.base), access.bytes,
                          static_cast<streamsan_mode>(access.mode));
    Count(&g_counts.host_accesses);
  }
}

// They are here while somebody asked for them. Pinned memory that is gone for a while is let go of.
void LookAtArguments(const at::RecordFunction& fn, ThreadState& thread, Frame& frame,
                     Frame* parent) {
  if (g_pinned.any()) {
    thread.idle = 0;
    FindHostAccesses(fn, frame, parent);
  } else if (++thread.idle == kIdle) {
    thread.idle = 0;
    g_arguments.LetGoOfPinned([] { return g_pinned.any(); });
  }
}

}  // namespace
#endif  // STREAMSAN_TORCH_HOST_ACCESSES_H_
