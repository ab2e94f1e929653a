#include "copy.h"

#include <algorithm>
#include <cstring>

#include "api_graph.h"

namespace ss::vgpu {

namespace {

// What a copy sees of an address. Managed memory counts as device memory.
enum class Place : uint8_t { kDevice, kPinned, kPageable, kInvalid };

Place Locate(Memory& memory, uint64_t base, uint64_t extent, End end) {
  const Block* block = memory.Find(base);
  if (!block) return end == End::kDevice || base == 0 ? Place::kInvalid : Place::kPageable;
  if (!block->Holds(base, extent)) return Place::kInvalid;
  return block->OnHost() ? Place::kPinned : Place::kDevice;
}

// Calls `piece(row, begin, end)` for the part of the box that belongs to a slice.
template <typename Piece>
void ForSlice(const Box& box, uint32_t slice, uint32_t slices, Piece piece) {
  if (box.rows() == 1) {
    piece(0, box.width * slice / slices, box.width * (slice + 1) / slices);
    return;
  }
  const uint64_t end = box.rows() * (slice + 1) / slices;
  for (uint64_t row = box.rows() * slice / slices; row < end; ++row) piece(row, 0, box.width);
}

uint32_t Slices(const Box& box) {
  const uint64_t parts = box.rows() > 1 ? box.rows() : std::max<uint64_t>(1, box.width / 4);
  return static_cast<uint32_t>(std::min<uint64_t>(parts, options().slices));
}

void CopySlice(const CopyRequest& request, uint32_t slice, uint32_t slices) {
  const uint64_t height = request.box.height;
  ForSlice(request.box, slice, slices, [&](uint64_t row, uint64_t begin, uint64_t end) {
    std::memmove(reinterpret_cast<char*>(request.to.Row(row, height) + begin),
                 reinterpret_cast<const char*>(request.from.Row(row, height) + begin), end - begin);
  });
}

// The staging buffer of a pageable source: its contents at the call.
std::shared_ptr<std::vector<char>> Stage(const CopyRequest& request) {
  auto staged = std::make_shared<std::vector<char>>(request.box.bytes());
  CopyRequest gather = request;
  gather.to = {reinterpret_cast<uint64_t>(staged->data()), request.box.width,
               request.box.width * request.box.height};
  CopySlice(gather, 0, 1);
  return staged;
}

// Is the source read at the call? Where it may be at any time, when it does the most harm to
// whoever relies on the stream's order: what the device still writes early, what the CPU may fill
// again late.
bool ReadAtCall(const CopyRequest& request, Place to, Place from) {
  if (request.source == SourceOrder::kInCall) return true;
  if (request.source == SourceOrder::kAnyTime) return from == Place::kDevice;
  return from == Place::kPageable && to == Place::kDevice;
}

// Rule 9: does the call return only after completion?
bool HostWaits(Place to, Place from, bool blocking) {
  const bool to_host = to != Place::kDevice;
  const bool from_host = from != Place::kDevice;
  if (to_host && from_host) return true;
  if (to == Place::kPageable) return true;
  return blocking && (to_host || from == Place::kPinned);
}

void FillSlice(const FillRequest& request, uint32_t slice, uint32_t slices) {
  Box units = request.box;
  units.width /= request.unit;
  ForSlice(units, slice, slices, [&](uint64_t row, uint64_t begin, uint64_t end) {
    char* at = reinterpret_cast<char*>(request.to.Row(row, request.box.height));
    for (uint64_t i = begin; i < end; ++i)
      std::memcpy(at + i * request.unit, &request.value, request.unit);
  });
}

}  // namespace

NewOp NodeOf(const CopyRequest& request) {
  const uint32_t slices = Slices(request.box);
  return {Work::kCopy, "copy", slices,
          [request, slices](uint32_t slice) { CopySlice(request, slice, slices); }};
}

NewOp NodeOf(const FillRequest& request) {
  const uint32_t slices = Slices(request.box);
  return {Work::kMemset, "memset", slices,
          [request, slices](uint32_t slice) { FillSlice(request, slice, slices); }};
}

CUresult Copy(Call& call, CopyRequest request, CUstream handle, DefaultStream which) {
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (request.box.bytes() == 0) return CUDA_SUCCESS;
  Memory& memory = *call.machine.memory;
  const Place to = Locate(memory, request.to.base, request.box.Extent(request.to), request.to_end);
  const Place from =
      Locate(memory, request.from.base, request.box.Extent(request.from), request.from_end);
  if (to == Place::kInvalid || from == Place::kInvalid) return CUDA_ERROR_INVALID_VALUE;

  if (stream->capture && !request.blocking) return call.Run(*stream, NodeOf(request));
  std::shared_ptr<std::vector<char>> staged;
  if (ReadAtCall(request, to, from)) {
    staged = Stage(request);
    request.from = {reinterpret_cast<uint64_t>(staged->data()), request.box.width,
                    request.box.width * request.box.height};
  }
  const uint32_t slices = Slices(request.box);
  NewOp copy{Work::kCopy, "copy", slices,
             [request, staged, slices](uint32_t slice) { CopySlice(request, slice, slices); }};
  return HostWaits(to, from, request.blocking) ? call.RunAndWait(*stream, std::move(copy))
                                               : call.Run(*stream, std::move(copy));
}

CUresult FillOp(Call& call, const CUDA_MEMSET_NODE_PARAMS_v2& params, NewOp* op) {
  FillRequest request;
  const uint64_t row = params.width * params.elementSize;
  request.box = {row, std::max<uint64_t>(params.height, 1), 1};
  request.to = {params.dst, params.height > 1 ? params.pitch : row, 0};
  request.value = params.value;
  request.unit = params.elementSize;
  const Block* block = call.machine.memory->Find(params.dst);
  const bool sized = params.elementSize == 1 || params.elementSize == 2 || params.elementSize == 4;
  if (!sized || !block || !block->Holds(params.dst, request.box.Extent(request.to))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *op = NodeOf(request);
  return CUDA_SUCCESS;
}

CUresult Fill(Call& call, const FillRequest& request, CUstream handle, DefaultStream which) {
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  if (request.box.bytes() == 0) return CUDA_SUCCESS;
  const Block* block = call.machine.memory->Find(request.to.base);
  if (!block || !block->Holds(request.to.base, request.box.Extent(request.to)) ||
      request.to.base % request.unit || request.to.pitch % request.unit) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint32_t slices = Slices(request.box);
  NewOp fill{Work::kMemset, "memset", slices,
             [request, slices](uint32_t slice) { FillSlice(request, slice, slices); }};
  const bool waits = request.blocking && (block->OnHost() || block->kind == MemoryKind::kManaged);
  return waits ? call.RunAndWait(*stream, std::move(fill)) : call.Run(*stream, std::move(fill));
}

}  // namespace ss::vgpu
