// What NVIDIA's cuda-gdb prints of a GPU core dump, read: which warps there are, and which of them
// wait at an mbarrier for which parity.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

struct CoreWarp {
  uint64_t pc = 0;
  std::string kernel;         // number, as cuda-gdb has it
  std::string block, thread;  // "(0,0,0)": of its first active thread
};

// Of `info cuda warps`.
std::vector<CoreWarp> ParseWarps(std::string_view text);

// A wait: the instruction that looks, with its operands' values.
struct CoreWait {
  std::string function;  // with offset: "gdn_like+7408"
  std::string instruction;
  uint32_t barrier = 0;
  uint32_t parity = 0;
};

// Of `x/Ni` around the pc and `info registers`. None: no wait for an mbarrier is near.
std::optional<CoreWait> ParseWait(std::string_view text);

// Of `x/gx`: the first word; none where it could not be read.
std::optional<uint64_t> ParseWord(std::string_view text);

// Warps that wait for the same in the same state, or are at one pc.
struct CoreGroup {
  uint64_t pc = 0;
  uint64_t warps = 0, blocks = 0;
  CoreWarp example;
  std::optional<CoreWait> wait;
  std::optional<uint64_t> word;  // of the barrier
};

struct CoreReport {
  std::vector<std::string> kernels;  // lines of `info cuda kernels`
  std::vector<CoreGroup> groups;     // the largest first
  uint64_t unread = 0;               // warps that were not looked at: too many places
};

// Runs cuda-gdb three times. Errors: it is not there, or cannot open the file.
Result<CoreReport> ReadCore(const std::string& path);

}  // namespace ss::kernels
