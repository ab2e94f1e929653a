// What is known of a kernel: which words of its parameters lead to memory that it reads or writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/kernels/cubin.h"

namespace ss::kernels {

// Changes whenever the same machine code may get another summary; part of every cache key.
constexpr uint32_t kAnalyserVersion = 5;

enum class Root : uint8_t {
  kParam,       // the pointer in the 8 bytes at `offset` of the parameters
  kParamTable,  // pointers at offset, offset + stride, ... below `end`, which one is not known
  kTensorMap,   // the tensor map in the parameters at `offset`; with stride: one of several
  kIndirect,    // a pointer read from memory to which the word at `offset` (or `symbol`) leads
  kGlobal,      // the module's variable `symbol`
  kTexture,     // the texture or surface handle at `offset`
};

struct Access {
  Root root = Root::kParam;
  int32_t offset = 0;
  int32_t end = 0;
  uint32_t stride = 0;  // kParamTable, tables of tensor maps: bytes, 8 where not known
  bool reads = false;
  bool writes = false;
  bool updates = false;           // atomically
  bool before_grid_wait = false;  // some of it may run before the kernel's grid-dependency wait ...
  bool early_reads = false, early_writes = false, early_updates = false;  // ... and how
  bool polled = false;  // read by a loop that spins until the value changes (rule 22a)
  // kParam: what is touched lies from byte `first` to before byte `last`, counted from where the
  // pointer points to; equal: not known where it lies.
  int32_t first = 0, last = 0;
  // Not all of those between, or not all in every mode, or not all on both sides of the wait.
  bool scattered = false;
  bool ambiguous = false;  // one of several words that may be the pointer, by sum or by index
  std::string symbol;

  std::string Modes() const;  // letters of RWA
  std::string EarlyModes() const;
};

// "a - b" went into an address. If the word at `offset` points to memory at the launch (-1: it
// cannot be looked at), the roots above may be wrong and the kernel is to be treated as unresolved.
struct PointerDifference {
  int32_t offset = -1;
};

struct KernelSummary {
  std::string name;
  int arch = 0;
  std::string hash;  // of the machine code and of what else decides the summary, 32 hex digits
  std::vector<Parameter> params;
  std::vector<Access> accesses;         // sorted
  std::vector<std::string> unresolved;  // why the accesses may be incomplete; empty = resolved
  std::vector<PointerDifference> differences;
  bool waits_for_grid = false;       // griddepcontrol.wait
  bool launches_dependents = false;  // griddepcontrol.launch_dependents
  uint32_t access_sites = 0;         // instructions that touch memory
  std::string origin;  // of a launched kernel, where it is not the image of its module; not cached

  bool resolved() const { return unresolved.empty(); }
  // Everything a reader should know beside the accesses, as short words.
  std::vector<std::string> Flags() const;
};

std::string_view RootName(Root root);

}  // namespace ss::kernels
