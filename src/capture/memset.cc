#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

struct Extent {
  uint64_t bytes;
  uint64_t pitch = 0, rows = 0;  // where bytes between the rows are not written
};

template <class... A>
CUresult Set(Call& call, Extent extent, CUstream stream, bool blocking, CUdeviceptr to,
             A... arguments) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(to, arguments...);
  call.Emit(trace::view::Memset{.destination = to,
                                .bytes = extent.bytes,
                                .stream = handle,
                                .context = context,
                                .blocking = blocking,
                                .result = result,
                                .stack = stack,
                                .bounding = extent.rows != 0,
                                .graph_node = NodeOf(handle),
                                .pitch = extent.pitch,
                                .rows = extent.rows});
  return result;
}

// The bounding range of `height` rows of `width` elements.
template <class Element>
Extent Rows(size_t pitch, size_t width, size_t height) {
  if (height == 0) return {0};
  size_t row = width * sizeof(Element);
  const uint64_t bytes = pitch * (height - 1) + row;
  if (height == 1 || pitch <= row) return {bytes};
  return {bytes, pitch, height};
}

}  // namespace

CUresult MemsetD8(Call& call, CUdeviceptr to, unsigned char value, size_t count) {
  return Set(call, {count}, nullptr, true, to, value, count);
}
CUresult MemsetD8Async(Call& call, CUdeviceptr to, unsigned char value, size_t count,
                       CUstream stream) {
  return Set(call, {count}, stream, false, to, value, count, stream);
}
CUresult MemsetD16(Call& call, CUdeviceptr to, unsigned short value, size_t count) {
  return Set(call, {count * sizeof value}, nullptr, true, to, value, count);
}
CUresult MemsetD16Async(Call& call, CUdeviceptr to, unsigned short value, size_t count,
                        CUstream stream) {
  return Set(call, {count * sizeof value}, stream, false, to, value, count, stream);
}
CUresult MemsetD32(Call& call, CUdeviceptr to, unsigned value, size_t count) {
  return Set(call, {count * sizeof value}, nullptr, true, to, value, count);
}
CUresult MemsetD32Async(Call& call, CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return Set(call, {count * sizeof value}, stream, false, to, value, count, stream);
}
CUresult MemsetD2D8(Call& call, CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                    size_t height) {
  return Set(call, Rows<unsigned char>(pitch, width, height), nullptr, true, to, pitch, value,
             width, height);
}
CUresult MemsetD2D8Async(Call& call, CUdeviceptr to, size_t pitch, unsigned char value,
                         size_t width, size_t height, CUstream stream) {
  return Set(call, Rows<unsigned char>(pitch, width, height), stream, false, to, pitch, value,
             width, height, stream);
}
CUresult MemsetD2D16(Call& call, CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                     size_t height) {
  return Set(call, Rows<unsigned short>(pitch, width, height), nullptr, true, to, pitch, value,
             width, height);
}
CUresult MemsetD2D16Async(Call& call, CUdeviceptr to, size_t pitch, unsigned short value,
                          size_t width, size_t height, CUstream stream) {
  return Set(call, Rows<unsigned short>(pitch, width, height), stream, false, to, pitch, value,
             width, height, stream);
}
CUresult MemsetD2D32(Call& call, CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                     size_t height) {
  return Set(call, Rows<unsigned>(pitch, width, height), nullptr, true, to, pitch, value, width,
             height);
}
CUresult MemsetD2D32Async(Call& call, CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                          size_t height, CUstream stream) {
  return Set(call, Rows<unsigned>(pitch, width, height), stream, false, to, pitch, value, width,
             height, stream);
}

}  // namespace ss::capture
