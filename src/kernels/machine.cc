#include "src/kernels/machine.h"

#include <algorithm>
#include <array>

namespace ss::kernels {
namespace {

constexpr std::array kKnown = {75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

}  // namespace

Machine MachineOf(int arch) {
  if (arch >= 100) return {0x37c, 0x348, false, 0x2f8, 0x358, 0, 0x120, 0x380};
  if (arch >= 90) return {0x28, 0x198, false, 0x20, 0x208, 0, 0xd0, 0x210};
  return {0x28, 0x40, true, 0x20, 0x118, 0x18, 0x50, 0x160};
}

bool IsKnownArch(int arch) { return std::find(kKnown.begin(), kKnown.end(), arch) != kKnown.end(); }

}  // namespace ss::kernels
