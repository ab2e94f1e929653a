// Copies and fills of up to three dimensions, and what of them the host waits for (rule 9).
#pragma once

#include <vector>

#include "api.h"

namespace ss::vgpu {

// Rows of bytes in memory: address of row y of slice z = base + z * slice + y * pitch.
struct Rows {
  uint64_t base = 0;
  uint64_t pitch = 0;
  uint64_t slice = 0;

  uint64_t Row(uint64_t index, uint64_t height) const {
    return base + index / height * slice + index % height * pitch;
  }
};

struct Box {
  uint64_t width = 0;  // bytes
  uint64_t height = 1;
  uint64_t depth = 1;

  uint64_t rows() const { return height * depth; }
  uint64_t bytes() const { return width * rows(); }
  // Bytes from the first to behind the last, as `rows` spreads them.
  uint64_t Extent(const Rows& rows) const {
    return bytes() == 0 ? 0 : (depth - 1) * rows.slice + (height - 1) * rows.pitch + width;
  }
};

// Where an end of a copy has to lie by the name of the call.
enum class End : uint8_t { kAny, kDevice, kHost };

// When a copy of a batch reads its source (CUmemcpySrcAccessOrder).
enum class SourceOrder : uint8_t { kStream, kInCall, kAnyTime };

struct CopyRequest {
  Rows to, from;
  Box box;
  End to_end = End::kAny;
  End from_end = End::kAny;
  bool blocking = false;
  SourceOrder source = SourceOrder::kStream;
};

// Queues the copy on `handle` and waits as rule 9 says.
CUresult Copy(Call& call, CopyRequest request, CUstream handle, DefaultStream which);

struct FillRequest {
  Rows to;
  Box box;
  uint32_t value = 0;
  uint32_t unit = 1;  // bytes of `value` that repeat: 1, 2 or 4
  bool blocking = false;
};
// The same as operations that a graph runs again and again.
NewOp NodeOf(const CopyRequest& request);
NewOp NodeOf(const FillRequest& request);
CUresult Fill(Call& call, const FillRequest& request, CUstream handle, DefaultStream which);

}  // namespace ss::vgpu
