// What an architecture keeps where in constant bank 0. Measured on nvcc's output for each, sm_75 to
// sm_120; NVIDIA documents none of it.
#pragma once

#include <cstdint>

namespace ss::kernels {

struct Machine {
  uint32_t stack_pointer = 0;
  uint32_t block_address = 0;    // low half of an address that leads to the parameters
  bool address_is_bank = false;  // it is that of bank 0, not of the parameter block in it
  uint32_t local_window = 0;     // two words
  uint32_t descriptor = 0;       // of memory accesses, two words: a number, never an address
  uint32_t shared_window = 0;    // two words; 0: a special register holds it
  uint32_t constant_window = 0;  // address of the module's own constants (c[3]), two words
  uint32_t default_base = 0;     // of the parameters, where the kernel does not say
};

// By the number of the architecture. Unknown ones get the nearest older layout; Known() tells.
Machine MachineOf(int arch);
bool IsKnownArch(int arch);

}  // namespace ss::kernels
