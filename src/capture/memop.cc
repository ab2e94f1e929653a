// Values in memory that streams write and wait for.
#include "src/capture/call.h"
#include "src/capture/graph.h"
#include "src/capture/handlers.h"
#include "src/capture/intern.h"

namespace ss::capture {
namespace {

struct MemOp {
  uint64_t type, address, value, flags;
};

void Tell(Call& call, uint64_t stream, uint64_t context, uint64_t stack, trace::view::Words words,
          CUresult result) {
  call.Emit(trace::view::StreamMemOp{.stream = stream,
                                     .context = context,
                                     .operations = words,
                                     .result = result,
                                     .stack = stack,
                                     .graph_node = NodeOf(stream)});
}

template <class Value>
CUresult One(Call& call, CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address,
             Value value, unsigned flags) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  CUresult result = call.Forward(stream, address, value, flags);
  uint64_t words[] = {static_cast<uint64_t>(type), address, value, flags};
  Tell(call, handle, context, stack, {words, 4}, result);
  return result;
}

}  // namespace

size_t MemOpWords(const CUstreamBatchMemOpParams* operations, unsigned count, uint64_t* words,
                  size_t room) {
  size_t used = 0;
  for (unsigned i = 0; operations && i < count; ++i) {
    const CUstreamBatchMemOpParams& one = operations[i];
    if (used + 4 > room) {
      CountGap(Gap::kManyParameters);
      break;
    }
    MemOp op{static_cast<uint64_t>(one.operation), 0, 0, 0};
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        op = {op.type, one.waitValue.address, one.waitValue.value, one.waitValue.flags};
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        op = {op.type, one.waitValue.address, one.waitValue.value64, one.waitValue.flags};
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        op = {op.type, one.writeValue.address, one.writeValue.value, one.writeValue.flags};
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        op = {op.type, one.writeValue.address, one.writeValue.value64, one.writeValue.flags};
        break;
      default:  // barriers and flushes: no value that anybody waits for
        op.flags = one.flushRemoteWrites.flags;
        break;
    }
    for (uint64_t word : {op.type, op.address, op.value, op.flags}) words[used++] = word;
  }
  return used;
}

CUresult StreamWriteValue32(Call& call, CUstream stream, CUdeviceptr address, cuuint32_t value,
                            unsigned flags) {
  return One(call, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
CUresult StreamWriteValue64(Call& call, CUstream stream, CUdeviceptr address, cuuint64_t value,
                            unsigned flags) {
  return One(call, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
CUresult StreamWaitValue32(Call& call, CUstream stream, CUdeviceptr address, cuuint32_t value,
                           unsigned flags) {
  return One(call, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
CUresult StreamWaitValue64(Call& call, CUstream stream, CUdeviceptr address, cuuint64_t value,
                           unsigned flags) {
  return One(call, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

// Read before the call: the driver may write to the array.
CUresult StreamBatchMemOp(Call& call, CUstream stream, unsigned count,
                          CUstreamBatchMemOpParams* operations, unsigned flags) {
  uint64_t handle = call.Stream(stream);
  uint64_t context = ContextOf(*call.thread, handle);
  uint64_t stack = call.Stack();
  size_t used = MemOpWords(operations, count, call.thread->words, kMaxWords);
  CUresult result = call.Forward(stream, count, operations, flags);
  Tell(call, handle, context, stack, {call.thread->words, used}, result);
  return result;
}

}  // namespace ss::capture
