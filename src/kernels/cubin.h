// What a cubin (an ELF file of one architecture's machine code) says about its kernels. Read with
// our own bounds checks rather than libelf: the input comes from any program, and the attributes
// (.nv.info, "EIATTR" records, named as cuobjdump names them) would need them anyway.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

struct Parameter {
  uint32_t offset = 0;  // from the start of the parameter block
  uint32_t size = 0;
};

// Targets of an indirect branch, offsets in the kernel's section (EIATTR_INDIRECT_BRANCH_TARGETS).
struct BranchTable {
  uint32_t pc = 0;
  std::vector<uint32_t> targets;
};

struct TextSection {
  std::string name;     // ".text.KERNEL", or of a device function
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;
  bool relocated = false;  // raw bytes lack addresses that a relocation puts in
};

struct KernelInfo {
  std::string name;
  uint32_t section = 0;     // index into Cubin::text
  uint32_t symbol = 0;      // index in the symbol table
  uint32_t param_base = 0;  // of the block in constant bank 0; 0 = not said
  uint32_t param_size = 0;
  std::vector<Parameter> params;  // in order of declaration
  std::vector<BranchTable> branches;
};

// A function that a kernel may call through a pointer.
struct DeviceFunction {
  std::string name;
  uint32_t section = 0;  // index into Cubin::text
  uint32_t offset = 0;
};

struct Cubin {
  int arch = 0;  // 80, 90, 100, ...
  std::vector<TextSection> text;
  std::vector<KernelInfo> kernels;
  std::vector<DeviceFunction> functions;
  std::map<uint32_t, std::string> addresses;  // constant bank 4: offset -> symbol
  std::string
      shared_key;  // hash of what the analysis of any kernel may look at beside its own code
  std::string_view image;  // not owned

  std::string_view TextOf(const TextSection& section) const {
    return image.substr(section.offset, section.size);
  }
};

bool IsElf(std::string_view image);

// `image` has to outlive the result. Errors are located by byte: not a CUDA ELF file, truncated,
// tables outside the file.
Result<Cubin> ReadCubin(std::string_view image, const std::string& place);

}  // namespace ss::kernels
