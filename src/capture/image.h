// What a program gives to the driver as machine code: what it is and how far it reaches.
//
// The forms are those that cuModuleLoadData names (cubin, PTX, fat binary) and the wrapper around a
// fat binary that nvcc's host code registers (fatbinary_section.h of the toolkit). The layout of
// cubins is ELF; that of a fat binary's header is not documented and stable since CUDA 9.
#pragma once

#include <cstdint>

namespace ss::capture {

enum class ImageKind : uint64_t { kUnknown, kElf, kFatbin, kPtx };  // the schema's `kind`

struct ImageSpan {
  ImageKind kind = ImageKind::kUnknown;
  bool damaged = false;         // kUnknown: looked like one and cannot be read to its end
  const char* begin = nullptr;  // behind a wrapper: of the fat binary itself
  uint64_t bytes = 0;           // PTX: without the NUL
};

// Errors: none, a `kind` of kUnknown. Reads only what it has to and survives what cannot be read.
ImageSpan RecogniseImage(const void* pointer);

// By the first bytes of a file; kUnknown is kPtx or something else there.
ImageKind KindOfFile(const char* head, uint64_t bytes);

// CRC-32C of the first 4 KiB, continued over the last 4 KiB; of less where there is less (they
// overlap then). False when a part cannot be read.
bool ImageChecksum(const ImageSpan& image, uint64_t* checksum);
constexpr uint64_t kChecksumBytes = 4096;

}  // namespace ss::capture
