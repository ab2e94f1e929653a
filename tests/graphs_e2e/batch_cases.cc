// Batches of copies: their sources are read when each says, and they are in no order (rule 9).
#include "gpu.h"

namespace {

void Batch(const std::vector<CUdeviceptr>& to, const std::vector<CUdeviceptr>& from,
           CUmemcpySrcAccessOrder order, CUstream stream) {
  std::vector<CUdeviceptr> targets = to, sources = from;
  std::vector<size_t> bytes(to.size(), kBytes);
  size_t first = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  CU(cuMemcpyBatchAsync(targets.data(), sources.data(), bytes.data(), to.size(), &attributes,
                        &first, 1, stream));
}

}  // namespace

// A result is copied away by its own stream, with a source that may be read at any time. Lookalike:
// behind a synchronisation.
bool AnyTime(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("compute");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b");
  gpu.Fill(s, a, 5);
  if (way == Way::kLookalike) CU(cuStreamSynchronize(s));
  const bool fixed = way == Way::kFixed;
  Batch({b}, {a}, fixed ? CU_MEMCPY_SRC_ACCESS_ORDER_STREAM : CU_MEMCPY_SRC_ACCESS_ORDER_ANY, s);
  return gpu.Holds(b, 5);
}

// One batch hands a block on that it has only just received. Fixed: two batches. Lookalike: both
// copies read the same block.
bool Chained(const Gpu& gpu, Way way) {
  CUstream s = gpu.Stream("swap");
  CUdeviceptr a = gpu.Buffer("a"), b = gpu.Buffer("b"), c = gpu.Buffer("c");
  gpu.Fill(s, a, 6);
  constexpr auto kInOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  if (way == Way::kFixed) {
    Batch({b}, {a}, kInOrder, s);
    Batch({c}, {b}, kInOrder, s);
  } else {
    Batch({b, c}, {a, way == Way::kRacy ? b : a}, kInOrder, s);
  }
  return gpu.Holds(c, 6);
}

// Boxes of one batch go into the halves of a frame's rows, while another stream fills the other
// halves. Racy: the boxes are wider than a half.
bool Boxes(const Gpu& gpu, Way way) {
  constexpr size_t kPitch = 64, kHalf = kPitch / 2, kRows = kBytes / kPitch;
  CUstream s = gpu.Stream("boxes"), t = gpu.Stream("filler");
  CUdeviceptr frame = gpu.Buffer("frame"), tile = gpu.Buffer("tile");
  gpu.Fill(s, tile, 9);
  CU(cuMemsetD2D32Async(frame + kHalf, kPitch, 8, kHalf / 4, kRows, t));
  if (way == Way::kFixed) gpu.WaitStream(s, t);
  CUDA_MEMCPY3D_BATCH_OP boxes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    boxes[i].src.type = boxes[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    boxes[i].src.op.ptr.ptr = tile;
    boxes[i].dst.op.ptr.ptr = frame + i * kPitch * kRows / 2;
    boxes[i].dst.op.ptr.rowLength = kPitch;
    boxes[i].extent = {way == Way::kLookalike ? kHalf : kHalf + 8, kRows / 2, 1};
    boxes[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  CU(cuMemcpy3DBatchAsync(2, boxes, 0, s));
  CU(cuCtxSynchronize());
  std::vector<uint32_t> rows(kCount);
  CU(cuMemcpyDtoH(rows.data(), frame, kBytes));
  bool good = true;
  for (size_t i = 0; i < kCount; ++i) {
    const size_t column = i * 4 % kPitch;
    const size_t width = way == Way::kLookalike ? kHalf : kHalf + 8;
    good &= rows[i] == (column < width ? 9u : 8u);
  }
  return good;
}
