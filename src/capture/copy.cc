#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

template <class... A>
CUresult Copy(Call& call, const Transfer& transfer, CUstream stream, bool blocking,
              A... arguments) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(arguments...);
  if (transfer.array) {
    CountGap(Gap::kArrayCopy);
    // That the host waited is known all the same: the blocking forms run on the default stream.
    if (!blocking || !transfer.from_array_to_host) return result;
    call.Emit(trace::view::StreamSync{
        .stream = handle, .context = context, .result = result, .stack = stack});
    return result;
  }
  call.Emit(trace::view::Copy{.destination = transfer.to,
                              .source = transfer.from,
                              .bytes = transfer.bytes,
                              .stream = handle,
                              .context = context,
                              .blocking = blocking,
                              .exact = transfer.exact,
                              .result = result,
                              .stack = stack,
                              .graph_node = NodeOf(handle),
                              .box = BoxOf(transfer)});
  return result;
}

template <class To, class From>
Transfer Plain(To to, From from, size_t bytes) {
  return {.to = (uint64_t)to, .from = (uint64_t)from, .bytes = bytes};
}

struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x, y, z, pitch, height;

  bool IsArray() const { return type == CU_MEMORYTYPE_ARRAY; }
};

struct Extent {
  size_t width, height, depth;
};

struct Bounds {
  uint64_t begin;
  uint64_t bytes;
  bool exact;
  uint64_t pitch, slice;  // bytes from row to row, from slice to slice
};

Bounds BoundsOf(const Side& side, const Extent& extent) {
  uint64_t base =
      side.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(side.host) : side.device;
  size_t pitch = side.pitch ? side.pitch : side.x + extent.width;
  size_t rows = side.height ? side.height : side.y + extent.height;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return {base, 0, true, 0, 0};
  size_t first = (side.z * rows + side.y) * pitch + side.x;
  size_t last = ((side.z + extent.depth - 1) * rows + side.y + extent.height - 1) * pitch + side.x;
  bool packed_rows = extent.height == 1 || pitch == extent.width;
  bool packed_slices = extent.depth == 1 || (pitch == extent.width && rows == extent.height);
  return {base + first, last + extent.width - first, packed_rows && packed_slices, pitch,
          pitch * rows};
}

Transfer Bounding(const Side& to, const Side& from, const Extent& extent) {
  Bounds target = BoundsOf(to, extent);
  Bounds source = BoundsOf(from, extent);
  Transfer transfer;
  transfer.to = target.begin;
  transfer.from = source.begin;
  transfer.bytes = target.bytes > source.bytes ? target.bytes : source.bytes;
  transfer.exact = target.exact && source.exact;
  transfer.box = {extent.width, extent.height, extent.depth, target.pitch,
                  target.slice, source.pitch,  source.slice};
  transfer.array = to.IsArray() || from.IsArray();
  transfer.from_array_to_host = from.IsArray() && to.type == CU_MEMORYTYPE_HOST;
  return transfer;
}

Transfer Of(const CUDA_MEMCPY2D* copy) {
  if (!copy) return {};
  return Bounding({copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                   copy->dstY, 0, copy->dstPitch, 0},
                  {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                   copy->srcY, 0, copy->srcPitch, 0},
                  {copy->WidthInBytes, copy->Height, 1});
}

template <class Copy3D>
Transfer Of(const Copy3D* copy) {
  if (!copy) return {};
  return Bounding({copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                   copy->dstY, copy->dstZ, copy->dstPitch, copy->dstHeight},
                  {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                   copy->srcY, copy->srcZ, copy->srcPitch, copy->srcHeight},
                  {copy->WidthInBytes, copy->Height, copy->Depth});
}

// One copy of a batch.
struct Batched {
  Transfer transfer;
  uint64_t order;  // CUmemcpySrcAccessOrder
};

// One call, any number of copies: each a record of its own, which says that it is in no order with
// those before it. `one(i)` is the i-th.
template <class F, class... A>
CUresult Batch(Call& call, size_t count, F one, CUstream stream, A... arguments) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(arguments...);
  uint64_t node = NodeOf(handle);
  bool begun = false;
  for (size_t i = 0; i < count; ++i) {
    const Batched copy = one(i);
    if (copy.transfer.array) {
      CountGap(Gap::kArrayCopy);
      continue;
    }
    call.Emit(trace::view::Copy{.destination = copy.transfer.to,
                                .source = copy.transfer.from,
                                .bytes = copy.transfer.bytes,
                                .stream = handle,
                                .context = context,
                                .exact = copy.transfer.exact,
                                .result = result,
                                .stack = stack,
                                .graph_node = node,
                                .box = BoxOf(copy.transfer),
                                .source_order = copy.order,
                                .batch = begun ? 2u : 1u});
    begun = true;
  }
  return result;
}

// What all linear copies of a batch have: the k-th attributes are those of the copies from
// `first_copy[k]` on.
struct Ranges {
  const CUdeviceptr *to, *from;
  const size_t* bytes;
  size_t count;
  const CUmemcpyAttributes* attributes;
  const size_t* first_copy;
  size_t attribute_count;

  // A null pointer is refused by the driver.
  size_t Count() const { return to && from && bytes ? count : 0; }
  Batched operator()(size_t i) const {
    Batched copy{Plain(to[i], from[i], bytes[i]), 0};
    if (!attributes || !first_copy) return copy;
    for (size_t k = 0; k < attribute_count && first_copy[k] <= i; ++k)
      copy.order = attributes[k].srcAccessOrder;
    return copy;
  }
};

Side SideOf(const CUmemcpy3DOperand& operand) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return {.type = CU_MEMORYTYPE_ARRAY};
  const auto& linear = operand.op.ptr;
  return {.type = CU_MEMORYTYPE_UNIFIED,
          .device = linear.ptr,
          .pitch = linear.rowLength,
          .height = linear.layerHeight};
}

// Between pointers an element is a byte.
Batched BoxOfBatch(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  const Extent extent{copy.extent.width, copy.extent.height, copy.extent.depth};
  return {Bounding(SideOf(copy.dst), SideOf(copy.src), extent),
          static_cast<uint64_t>(copy.srcAccessOrder)};
}

template <class... A>
CUresult BatchOfBoxes(Call& call, size_t count, const CUDA_MEMCPY3D_BATCH_OP* copies,
                      CUstream stream, A... arguments) {
  auto one = [copies](size_t i) { return BoxOfBatch(copies[i]); };
  return Batch(call, copies ? count : 0, one, stream, arguments...);
}

}  // namespace

CUresult MemcpyBatch(Call& call, CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                     CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                     size_t* failed, CUstream stream) {
  const Ranges ranges{to, from, bytes, count, attributes, indices, attribute_count};
  return Batch(call, ranges.Count(), ranges, stream, to, from, bytes, count, attributes, indices,
               attribute_count, failed, stream);
}
CUresult MemcpyBatch2(Call& call, CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                      CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                      CUstream stream) {
  const Ranges ranges{to, from, bytes, count, attributes, indices, attribute_count};
  return Batch(call, ranges.Count(), ranges, stream, to, from, bytes, count, attributes, indices,
               attribute_count, stream);
}
CUresult Memcpy3DBatch(Call& call, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed,
                       unsigned long long flags, CUstream stream) {
  return BatchOfBoxes(call, count, copies, stream, count, copies, failed, flags, stream);
}
CUresult Memcpy3DBatch2(Call& call, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                        unsigned long long flags, CUstream stream) {
  return BatchOfBoxes(call, count, copies, stream, count, copies, flags, stream);
}

Transfer TransferOf(const CUDA_MEMCPY3D* copy) { return Of(copy); }

CUresult Memcpy(Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(call, Plain(to, from, bytes), nullptr, true, to, from, bytes);
}
CUresult MemcpyAsync(Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(call, Plain(to, from, bytes), stream, false, to, from, bytes, stream);
}
CUresult MemcpyHtoD(Call& call, CUdeviceptr to, const void* from, size_t bytes) {
  return Copy(call, Plain(to, from, bytes), nullptr, true, to, from, bytes);
}
CUresult MemcpyHtoDAsync(Call& call, CUdeviceptr to, const void* from, size_t bytes,
                         CUstream stream) {
  return Copy(call, Plain(to, from, bytes), stream, false, to, from, bytes, stream);
}
CUresult MemcpyDtoH(Call& call, void* to, CUdeviceptr from, size_t bytes) {
  return Copy(call, Plain(to, from, bytes), nullptr, true, to, from, bytes);
}
CUresult MemcpyDtoHAsync(Call& call, void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(call, Plain(to, from, bytes), stream, false, to, from, bytes, stream);
}
CUresult MemcpyDtoD(Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(call, Plain(to, from, bytes), nullptr, true, to, from, bytes);
}
CUresult MemcpyDtoDAsync(Call& call, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                         CUstream stream) {
  return Copy(call, Plain(to, from, bytes), stream, false, to, from, bytes, stream);
}
CUresult MemcpyPeer(Call& call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                    CUcontext from_context, size_t bytes) {
  return Copy(call, Plain(to, from, bytes), nullptr, true, to, to_context, from, from_context,
              bytes);
}
CUresult MemcpyPeerAsync(Call& call, CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                         CUcontext from_context, size_t bytes, CUstream stream) {
  return Copy(call, Plain(to, from, bytes), stream, false, to, to_context, from, from_context,
              bytes, stream);
}
CUresult Memcpy2D(Call& call, const CUDA_MEMCPY2D* copy) {
  return Copy(call, Of(copy), nullptr, true, copy);
}
CUresult Memcpy2DAsync(Call& call, const CUDA_MEMCPY2D* copy, CUstream stream) {
  return Copy(call, Of(copy), stream, false, copy, stream);
}
CUresult Memcpy3D(Call& call, const CUDA_MEMCPY3D* copy) {
  return Copy(call, Of(copy), nullptr, true, copy);
}
CUresult Memcpy3DAsync(Call& call, const CUDA_MEMCPY3D* copy, CUstream stream) {
  return Copy(call, Of(copy), stream, false, copy, stream);
}
CUresult Memcpy3DPeer(Call& call, const CUDA_MEMCPY3D_PEER* copy) {
  return Copy(call, Of(copy), nullptr, true, copy);
}
CUresult Memcpy3DPeerAsync(Call& call, const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return Copy(call, Of(copy), stream, false, copy, stream);
}
CUresult MemcpyAtoH(Call& call, void* to, CUarray from, size_t offset, size_t bytes) {
  Transfer transfer{.array = true, .from_array_to_host = true};
  return Copy(call, transfer, nullptr, true, to, from, offset, bytes);
}

}  // namespace ss::capture
