#include "kernel_table.h"

#include "vgpu/control.h"
#include "vgpu/kernel.h"

#ifdef STREAMSAN_FATBIN
asm(R"(
  .section .rodata
  .balign 64
  .globl incidents_fatbin
  incidents_fatbin:
  .incbin ")" STREAMSAN_FATBIN R"("
  .byte 0
  .previous
)");
extern "C" const char incidents_fatbin[];
#endif

namespace ss::incidents {

namespace {

constexpr KernelUse kUses[] = {
    {"produce", "w"},
    {"transform", "wr"},
    {"exchange", "wr"},
    {"unpermute_backward", "wwr"},
    {"expert_backward", "mwrr"},
    {"accumulate", "mr"},
    {"fill_nan", "w"},
    {"check", "ar"},
    {"busy", ""},
};

}  // namespace

std::span<const KernelUse> KernelUses() { return kUses; }

const void* KernelImage() {
  if (vgpu_present()) return ::vgpu::Image();
#ifdef STREAMSAN_FATBIN
  return incidents_fatbin;
#else
  return nullptr;
#endif
}

}  // namespace ss::incidents
