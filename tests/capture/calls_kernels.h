// Kernels of the capture tests' programs.
#pragma once

#include <cstdint>

// Pointers inside a struct that is passed by value, as foreach kernels have them.
struct TenPointers {
  uint32_t count;
  void* at[10];
};

// touch(TenPointers p, uint32_t n, float* last) and ten(float* a, ..., float* j)
const void* KernelImage();
