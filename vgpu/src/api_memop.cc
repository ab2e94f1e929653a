// Values in memory that streams write and wait for (rule 11).
#include <atomic>

#include "api_graph.h"

using namespace ss::vgpu;

namespace {

template <typename Value>
Value Load(uint64_t address) {
  return std::atomic_ref<Value>(*reinterpret_cast<Value*>(address)).load();
}

template <typename Value, typename Signed>
bool Passes(uint64_t address, Value wanted, unsigned flags) {
  const Value now = Load<Value>(address);
  switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(now - wanted) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & wanted) != 0;
    default:
      return static_cast<Value>(~(now | wanted)) != 0;
  }
}

template <typename Value>
NewOp Write(uint64_t address, Value value) {
  return {Work::kMarker, "write value", 1, [=](uint32_t) {
            std::atomic_ref<Value>(*reinterpret_cast<Value*>(address)).store(value);
          }};
}

template <typename Value, typename Signed>
NewOp Await(uint64_t address, Value value, unsigned flags) {
  NewOp op{Work::kMarker, "wait value"};
  op.gate = [=] { return Passes<Value, Signed>(address, value, flags); };
  return op;
}

bool Aligned(Call& call, uint64_t address, size_t bytes) {
  const Block* block = call.machine.memory->Find(address);
  return address % bytes == 0 && block && block->Holds(address, bytes);
}

CUresult Batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations,
               DefaultStream which) {
  VGPU_ENTER(call);
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(handle, which, &stream)) return error;
  std::vector<NewOp> ops;
  if (const CUresult error = MemOp(call, operations, count, &ops)) return error;
  for (NewOp& op : ops) {
    if (const CUresult error = call.Run(*stream, std::move(op))) return error;
  }
  return CUDA_SUCCESS;
}

CUresult One(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, uint64_t value,
             unsigned flags, DefaultStream which) {
  CUstreamBatchMemOpParams op{};
  op.waitValue.operation = type;
  op.waitValue.address = address;
  op.waitValue.value64 = value;
  op.waitValue.flags = flags;
  return Batch(stream, 1, &op, which);
}

}  // namespace

CUresult ss::vgpu::MemOp(Call& call, const CUstreamBatchMemOpParams* operations, unsigned count,
                         std::vector<NewOp>* ops) {
  if (count && !operations) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& one = operations[i];
    const uint64_t at = one.waitValue.address;
    const bool narrow = one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                        one.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        ops->push_back(Await<uint32_t, int32_t>(at, one.waitValue.value, one.waitValue.flags));
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        ops->push_back(Await<uint64_t, int64_t>(at, one.waitValue.value64, one.waitValue.flags));
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        ops->push_back(Write<uint32_t>(at, one.writeValue.value));
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        ops->push_back(Write<uint64_t>(at, one.writeValue.value64));
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        continue;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!Aligned(call, at, narrow ? 4 : 8)) return CUDA_ERROR_INVALID_VALUE;
    const Block& block = *call.machine.memory->Find(at);
    ops->back().by_cpu = block.OnHost() || block.kind == MemoryKind::kManaged;
  }
  return CUDA_SUCCESS;
}

#define VGPU_MEMOP(kind, bits)                                                            \
  VGPU_STREAM_EXPORT(                                                                     \
      cuStream##kind##Value##bits##_v2, _ptsz,                                            \
      (CUstream stream, CUdeviceptr address, cuuint##bits##_t value, unsigned int flags), \
      One(stream, VGPU_MEMOP_TYPE_##kind(bits), address, value, flags, kDefault))
#define VGPU_MEMOP_TYPE_Wait(bits) CU_STREAM_MEM_OP_WAIT_VALUE_##bits
#define VGPU_MEMOP_TYPE_Write(bits) CU_STREAM_MEM_OP_WRITE_VALUE_##bits
VGPU_MEMOP(Wait, 32)
VGPU_MEMOP(Wait, 64)
VGPU_MEMOP(Write, 32)
VGPU_MEMOP(Write, 64)
VGPU_STREAM_EXPORT(cuStreamBatchMemOp_v2, _ptsz,
                   (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                    unsigned int),
                   Batch(stream, count, operations, kDefault))
