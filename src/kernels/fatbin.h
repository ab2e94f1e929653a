// Fat binaries: the containers in which programs carry cubins of several architectures and PTX.
// Found by their magic number, raw or anywhere inside another file (the .nv_fatbin section of a
// program or of a shared object). The layout is not documented; it is stable since CUDA 9.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

enum class EntryKind : uint8_t { kCubin, kPtx, kOther };

struct FatbinEntry {
  EntryKind kind = EntryKind::kOther;
  int arch = 0;
  bool was_compressed = false;
  uint64_t offset = 0;  // of its bytes in the file, as stored
  std::string image;    // unpacked; kCubin: an ELF file; kPtx: text; empty when `error` says why
  std::string error;    // this entry cannot be read; the others can
};

// Which entries to unpack; the others come without their bytes.
using EntryFilter = std::function<bool(EntryKind kind, int arch)>;

// Whether a container starts at the first byte.
bool IsFatbin(std::string_view image);
// The bytes of a container of which only the start is known (8 bytes of it at least); 0: it is
// none.
uint64_t FatbinLength(std::string_view image);

// All entries of all containers in `file`. Errors: there is no container in it, or the only one is
// damaged; damage behind that is an entry with its error.
Result<std::vector<FatbinEntry>> ReadFatbins(std::string_view file, const std::string& place,
                                             const EntryFilter& wanted = {});

}  // namespace ss::kernels
