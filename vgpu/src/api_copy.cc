// The memcpy family.
#include <vector>

#include "api_graph.h"
#include "copy.h"

using namespace ss::vgpu;

namespace {

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

CUresult Linear(uint64_t to, End to_end, uint64_t from, End from_end, size_t bytes, bool blocking,
                CUstream stream, DefaultStream which) {
  VGPU_ENTER_CONTEXT(call);
  CopyRequest request;
  request.to = {to, bytes, bytes};
  request.from = {from, bytes, bytes};
  request.box.width = bytes;
  request.to_end = to_end;
  request.from_end = from_end;
  request.blocking = blocking;
  return Copy(call, request, stream, which);
}

// One side of a CUDA_MEMCPY2D or 3D: false for arrays, which do not exist here.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x, y, z, pitch, height;

  bool Resolve(const Box& box, Rows* rows, End* end) const {
    if (type == CU_MEMORYTYPE_ARRAY) return false;
    *end = type == CU_MEMORYTYPE_HOST     ? End::kHost
           : type == CU_MEMORYTYPE_DEVICE ? End::kDevice
                                          : End::kAny;
    rows->pitch = pitch ? pitch : box.width;
    rows->slice = rows->pitch * (height ? height : box.height);
    rows->base = (type == CU_MEMORYTYPE_HOST ? Address(host) : device) + z * rows->slice +
                 y * rows->pitch + x;
    return true;
  }
};

CUresult Boxed(const Side& to, const Side& from, const Box& box, bool blocking, CUstream stream,
               DefaultStream which) {
  VGPU_ENTER_CONTEXT(call);
  CopyRequest request;
  request.box = box;
  request.blocking = blocking;
  if (!to.Resolve(box, &request.to, &request.to_end) ||
      !from.Resolve(box, &request.from, &request.from_end)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (box.rows() > 1 && (request.to.pitch < box.width || request.from.pitch < box.width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Copy(call, request, stream, which);
}

CUresult TwoD(const CUDA_MEMCPY2D* copy, bool blocking, CUstream stream, DefaultStream which) {
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  const auto& c = *copy;
  return Boxed({c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, 0, c.dstPitch, 0},
               {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, 0, c.srcPitch, 0},
               {c.WidthInBytes, c.Height, 1}, blocking, stream, which);
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER name their members alike.
template <typename Copy3D>
CUresult ThreeD(const Copy3D* copy, bool blocking, CUstream stream, DefaultStream which) {
  if (!copy) return CUDA_ERROR_INVALID_VALUE;
  const auto& c = *copy;
  return Boxed({c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch,
                c.dstHeight},
               {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch,
                c.srcHeight},
               {c.WidthInBytes, c.Height, c.Depth}, blocking, stream, which);
}

bool SourceOrderOf(CUmemcpySrcAccessOrder order, SourceOrder* source) {
  *source = order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? SourceOrder::kInCall
            : order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY           ? SourceOrder::kAnyTime
                                                                : SourceOrder::kStream;
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

// A batch's copies are in no order: the last one comes first here, for whoever relies on another.
// The legacy stream takes none, and no graph does (measured on an H200).
CUresult Batch(const std::vector<CopyRequest>& copies, CUstream stream, DefaultStream which) {
  VGPU_ENTER_CONTEXT(call);
  Stream* found = nullptr;
  if (const CUresult error = call.Find(stream, which, &found)) return error;
  if (found->kind == StreamKind::kLegacy) return CUDA_ERROR_INVALID_VALUE;
  if (found->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (size_t i = copies.size(); i-- > 0;) {
    if (const CUresult error = Copy(call, copies[i], stream, which)) return error;
  }
  return CUDA_SUCCESS;
}

CUresult LinearBatch(const CUdeviceptr* to, const CUdeviceptr* from, const size_t* bytes,
                     size_t count, const CUmemcpyAttributes* attributes, const size_t* first_copy,
                     size_t attribute_count, CUstream stream, DefaultStream which) {
  const bool given = to && from && bytes && count && attributes && first_copy && attribute_count;
  if (!given || first_copy[0] != 0 || attribute_count > count) return CUDA_ERROR_INVALID_VALUE;
  for (size_t k = 1; k < attribute_count; ++k) {
    const bool inside = first_copy[k] > first_copy[k - 1] && first_copy[k] < count;
    if (!inside) return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<CopyRequest> copies(count);
  size_t its = 0;
  for (size_t i = 0; i < count; ++i) {
    while (its + 1 < attribute_count && first_copy[its + 1] <= i) ++its;
    CopyRequest& copy = copies[i];
    copy.to = {to[i], bytes[i], bytes[i]};
    copy.from = {from[i], bytes[i], bytes[i]};
    copy.box.width = bytes[i];
    if (bytes[i] == 0 || !SourceOrderOf(attributes[its].srcAccessOrder, &copy.source)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return Batch(copies, stream, which);
}

// False for arrays, which do not exist here.
bool RowsOf(const CUmemcpy3DOperand& operand, const Box& box, Rows* rows) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return false;
  const auto& linear = operand.op.ptr;
  rows->base = linear.ptr;
  rows->pitch = linear.rowLength ? linear.rowLength : box.width;
  rows->slice = rows->pitch * (linear.layerHeight ? linear.layerHeight : box.height);
  return true;
}

CUresult BoxBatch(const CUDA_MEMCPY3D_BATCH_OP* boxes, size_t count, unsigned long long flags,
                  CUstream stream, DefaultStream which) {
  if (!boxes || !count || flags) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CopyRequest> copies(count);
  for (size_t i = 0; i < count; ++i) {
    const CUDA_MEMCPY3D_BATCH_OP& box = boxes[i];
    CopyRequest& copy = copies[i];
    copy.box = {box.extent.width, box.extent.height, box.extent.depth};
    if (copy.box.bytes() == 0 || !SourceOrderOf(box.srcAccessOrder, &copy.source)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!RowsOf(box.dst, copy.box, &copy.to) || !RowsOf(box.src, copy.box, &copy.from)) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (copy.to.pitch < copy.box.width || copy.from.pitch < copy.box.width) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return Batch(copies, stream, which);
}

}  // namespace

VGPU_STREAM_EXPORT(cuMemcpyBatchAsync_v2, _ptsz,
                   (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                    CUmemcpyAttributes* attributes, size_t* first_copy, size_t attribute_count,
                    CUstream stream),
                   LinearBatch(to, from, bytes, count, attributes, first_copy, attribute_count,
                               stream, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy3DBatchAsync_v2, _ptsz,
                   (size_t count, CUDA_MEMCPY3D_BATCH_OP* boxes, unsigned long long flags,
                    CUstream stream),
                   BoxBatch(boxes, count, flags, stream, kDefault))

CUresult ss::vgpu::CopyOp(Call&, const CUDA_MEMCPY3D& c, NewOp* op) {
  CopyRequest request;
  request.box = {c.WidthInBytes, c.Height, c.Depth};
  const Side to{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes,
                c.dstY,          c.dstZ,    c.dstPitch,  c.dstHeight};
  const Side from{c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes,
                  c.srcY,          c.srcZ,    c.srcPitch,  c.srcHeight};
  if (!to.Resolve(request.box, &request.to, &request.to_end) ||
      !from.Resolve(request.box, &request.from, &request.from_end)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  *op = NodeOf(request);
  return CUDA_SUCCESS;
}

VGPU_STREAM_EXPORT(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t bytes),
                   Linear(to, End::kDevice, Address(from), End::kHost, bytes, true, nullptr,
                          kDefault))
VGPU_STREAM_EXPORT(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t bytes),
                   Linear(Address(to), End::kHost, from, End::kDevice, bytes, true, nullptr,
                          kDefault))
VGPU_STREAM_EXPORT(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                   Linear(to, End::kDevice, from, End::kDevice, bytes, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                   Linear(to, End::kAny, from, End::kAny, bytes, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpyPeer, _ptds,
                   (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes),
                   Linear(to, End::kDevice, from, End::kDevice, bytes, true, nullptr, kDefault))

VGPU_STREAM_EXPORT(cuMemcpyHtoDAsync_v2, _ptsz,
                   (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
                   Linear(to, End::kDevice, Address(from), End::kHost, bytes, false, stream,
                          kDefault))
VGPU_STREAM_EXPORT(cuMemcpyDtoHAsync_v2, _ptsz,
                   (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
                   Linear(Address(to), End::kHost, from, End::kDevice, bytes, false, stream,
                          kDefault))
VGPU_STREAM_EXPORT(cuMemcpyDtoDAsync_v2, _ptsz,
                   (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                   Linear(to, End::kDevice, from, End::kDevice, bytes, false, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemcpyAsync, _ptsz,
                   (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                   Linear(to, End::kAny, from, End::kAny, bytes, false, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemcpyPeerAsync, _ptsz,
                   (CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                    CUstream stream),
                   Linear(to, End::kDevice, from, End::kDevice, bytes, false, stream, kDefault))

VGPU_STREAM_EXPORT(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* copy),
                   TwoD(copy, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* copy),
                   TwoD(copy, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* copy, CUstream stream),
                   TwoD(copy, false, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* copy),
                   ThreeD(copy, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* copy, CUstream stream),
                   ThreeD(copy, false, stream, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* copy),
                   ThreeD(copy, true, nullptr, kDefault))
VGPU_STREAM_EXPORT(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* copy, CUstream stream),
                   ThreeD(copy, false, stream, kDefault))
