// Tensor maps: the memory that a kernel reaches through TMA descriptors.
//
// Extent. globalDim counts elements, globalStrides (of every dimension but the innermost) bytes
// (cuTensorMapEncodeTiled in cuda.h), so the last element lies at the sum of (dim - 1) * stride,
// and the tensor ends one element later. With an interleaved layout the innermost dimension is cut
// into slices of 16 or 32 bytes that lie further out, and no stride names their place; each stride
// covers the dimensions before it, so dim * stride of the outermost is an upper bound there.
//
// A launch passes a map by value; what its words show of it is the first word, which is the base
// address (driver 580, sm_90). Replacing the address changes nothing else there.
#include <string.h>

#include "src/capture/call.h"
#include "src/capture/handlers.h"
#include "src/capture/word_map.h"

namespace ss::capture {
namespace {

constexpr unsigned kMaxRank = 5;
constexpr size_t kMapWords = 16;  // 128 bytes

// Bits an element, by CUtensorMapDataType; numbers because older headers lack the packed ones.
constexpr uint8_t kElementBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
constexpr unsigned kPacked4Align16 = 14;  // 8 bytes of values, 8 bytes of gap
constexpr unsigned kPacked6Align16 = 15;  // 12 bytes of values, 4 bytes of gap

WordMap g_extents;  // hash of a map's bytes -> bytes that it covers

uint64_t RowBytes(unsigned type, uint64_t elements) {
  if (type == kPacked4Align16 || type == kPacked6Align16) return (elements + 15) / 16 * 16;
  return (elements * kElementBits[type] + 7) / 8;
}

// 0: a type or a rank that is not known.
uint64_t Extent(unsigned type, unsigned rank, const cuuint64_t* dims, const cuuint64_t* strides,
                unsigned interleave) {
  if (type >= sizeof kElementBits || rank == 0 || rank > kMaxRank) return 0;
  if (interleave && rank > 1) return dims[rank - 1] * strides[rank - 2];
  uint64_t bytes = RowBytes(type, dims[0]);
  for (unsigned i = 1; i < rank; ++i) bytes += (dims[i] - 1) * strides[i - 1];
  return bytes;
}

struct MapBytes {
  uint64_t words[kMapWords];

  explicit MapBytes(const void* map) { memcpy(words, map, sizeof words); }
  uint64_t Hash() const {
    uint64_t hash = 0;
    for (uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash ? hash : 1;
  }
};

CUresult Emit(Call& call, const void* map, const void* address, uint64_t bytes, CUresult result) {
  if (result != CUDA_SUCCESS) return result;
  MapBytes encoded(map);
  if (bytes == 0) CountGap(Gap::kTensorMapExtent);
  g_extents.Set(encoded.Hash(), bytes);
  call.Emit(trace::view::TensorMap{.first_word = encoded.words[0],
                                   .address = reinterpret_cast<uint64_t>(address),
                                   .bytes = bytes});
  return result;
}

}  // namespace

CUresult TensorMapEncodeTiled(Call& call, void* map, unsigned type, unsigned rank, void* address,
                              const cuuint64_t* dims, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t* steps, unsigned interleave,
                              unsigned swizzle, unsigned promotion, unsigned fill) {
  CUresult result = call.Forward(map, type, rank, address, dims, strides, box, steps, interleave,
                                 swizzle, promotion, fill);
  if (result != CUDA_SUCCESS) return result;
  return Emit(call, map, address, Extent(type, rank, dims, strides, interleave), result);
}

CUresult TensorMapEncodeIm2col(Call& call, void* map, unsigned type, unsigned rank, void* address,
                               const cuuint64_t* dims, const cuuint64_t* strides, const int* lower,
                               const int* upper, unsigned channels, unsigned pixels,
                               const cuuint32_t* steps, unsigned interleave, unsigned swizzle,
                               unsigned promotion, unsigned fill) {
  CUresult result = call.Forward(map, type, rank, address, dims, strides, lower, upper, channels,
                                 pixels, steps, interleave, swizzle, promotion, fill);
  if (result != CUDA_SUCCESS) return result;
  return Emit(call, map, address, Extent(type, rank, dims, strides, interleave), result);
}

CUresult TensorMapEncodeIm2colWide(Call& call, void* map, unsigned type, unsigned rank,
                                   void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                   int lower, int upper, unsigned channels, unsigned pixels,
                                   const cuuint32_t* steps, unsigned interleave, unsigned mode,
                                   unsigned swizzle, unsigned promotion, unsigned fill) {
  CUresult result = call.Forward(map, type, rank, address, dims, strides, lower, upper, channels,
                                 pixels, steps, interleave, mode, swizzle, promotion, fill);
  if (result != CUDA_SUCCESS) return result;
  return Emit(call, map, address, Extent(type, rank, dims, strides, interleave), result);
}

// The map says by its bytes what it covered before; one that was not encoded here is not known.
CUresult TensorMapReplaceAddress(Call& call, void* map, void* address) {
  uint64_t before = map ? MapBytes(map).Hash() : 0;
  CUresult result = call.Forward(map, address);
  return Emit(call, map, address, g_extents.Get(before), result);
}

bool InitTensorMaps() { return g_extents.Init(16); }
void ResetTensorMaps() { g_extents.Clear(); }

}  // namespace ss::capture
