// What stands at an address of a kernel: the instruction, and the lines of source that it came
// from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/disassembler.h"

namespace ss::kernels {

struct CodePlace {
  std::string sass;  // "SYNCS.PHASECHK.TRANS64.TRYWAIT P2, [R9+URZ+0xc90], R2"
  std::vector<std::string>
      lines;  // "gdn_like.cu:142", innermost first; empty without line information
};

// By kernel (as in the symbol table) and byte offset in its code.
using CodePlaces = std::map<std::string, std::map<uint64_t, CodePlace>, std::less<>>;

// Reads what `nvdisasm -c -gi` prints. Lines of other shapes are passed over.
CodePlaces ParsePlaces(std::string_view text);

// Errors: the disassembler's.
Result<CodePlaces> ReadPlaces(const Disassembler& disassembler, std::string_view cubin);

}  // namespace ss::kernels
