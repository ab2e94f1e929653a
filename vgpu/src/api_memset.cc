// The memset family. `n` and `width` count units, pitches count bytes.
#include "copy.h"

using namespace ss::vgpu;

static CUresult Set(CUdeviceptr to, uint32_t unit, uint32_t value, size_t pitch, size_t width,
                    size_t height, bool blocking, CUstream stream, DefaultStream which) {
  VGPU_ENTER_CONTEXT(call);
  FillRequest request;
  request.box = {width * unit, height, 1};
  request.to = {to, pitch ? pitch : width * unit, 0};
  request.value = value;
  request.unit = unit;
  request.blocking = blocking;
  return Fill(call, request, stream, which);
}

#define VGPU_MEMSET(bits, type)                                                               \
  VGPU_STREAM_EXPORT(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr to, type value, size_t n),     \
                     Set(to, bits / 8, value, 0, n, 1, true, nullptr, kDefault))              \
  VGPU_STREAM_EXPORT(cuMemsetD##bits##Async, _ptsz,                                           \
                     (CUdeviceptr to, type value, size_t n, CUstream s),                      \
                     Set(to, bits / 8, value, 0, n, 1, false, s, kDefault))                   \
  VGPU_STREAM_EXPORT(cuMemsetD2D##bits##_v2, _ptds,                                           \
                     (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height), \
                     Set(to, bits / 8, value, pitch, width, height, true, nullptr, kDefault)) \
  VGPU_STREAM_EXPORT(                                                                         \
      cuMemsetD2D##bits##Async, _ptsz,                                                        \
      (CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream s),    \
      Set(to, bits / 8, value, pitch, width, height, false, s, kDefault))

VGPU_MEMSET(8, unsigned char)
VGPU_MEMSET(16, unsigned short)
VGPU_MEMSET(32, unsigned int)
