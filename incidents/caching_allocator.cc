#include "caching_allocator.h"

#include "streamsan/annotate.h"

namespace ss::incidents {

namespace {

constexpr size_t kGrain = 512;

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

CachingAllocator::~CachingAllocator() {
  CU(cuCtxSynchronize());
  for (auto& [event, block] : pending_) CU(cuEventDestroy(event));
  for (auto& [address, block] : blocks_) CU(cuMemFree(address));
}

// Makes blocks whose recorded work is over available, oldest first, as far as they are.
void CachingAllocator::CollectPending() {
  streamsan_pool_enter(this);
  while (!pending_.empty()) {
    auto [event, block] = pending_.front();
    const CUresult state = cuEventQuery(event);
    if (state == CUDA_ERROR_NOT_READY) break;
    CU(state);
    CU(cuEventDestroy(event));
    if (--block->pending == 0) free_[{block->owner, block->bytes, block->address}] = block;
    pending_.pop_front();
  }
  streamsan_pool_leave(this);
}

CachingAllocator::Block* CachingAllocator::Take(CUstream stream, size_t bytes) {
  const auto found = free_.lower_bound({stream, bytes, 0});
  if (found != free_.end() && std::get<0>(found->first) == stream &&
      std::get<1>(found->first) == bytes) {
    Block* block = found->second;
    free_.erase(found);
    return block;
  }
  CUdeviceptr address = 0;
  CU(cuMemAlloc(&address, bytes));
  Block& block = blocks_[address];
  block.address = address;
  block.bytes = bytes;
  block.owner = stream;
  return &block;
}

float* CachingAllocator::Allocate(CUstream stream, uint32_t n, const char* name) {
  CollectPending();
  const size_t asked = n * sizeof(float);
  Block* block = Take(stream, (asked + kGrain - 1) / kGrain * kGrain);
  auto* values = static_cast<float*>(Pointer(block->address));
  streamsan_pool_alloc(this, values, asked, stream);
  streamsan_buffer(values, asked, name);
  if (fill_) {
    streamsan_fill(stream, values, asked);
    LAUNCH(gpu_, stream, "fill_nan", reinterpret_cast<uint32_t*>(values), n);
  }
  return values;
}

void CachingAllocator::RecordStream(float* pointer, CUstream stream) {
  streamsan_pool_record_use(this, pointer, stream);
  Block& block = blocks_.at(reinterpret_cast<CUdeviceptr>(pointer));
  if (stream != block.owner) block.recorded.insert(stream);
}

void CachingAllocator::Free(float* pointer) {
  streamsan_pool_free(this, pointer);
  Block& block = blocks_.at(reinterpret_cast<CUdeviceptr>(pointer));
  for (CUstream stream : block.recorded) {
    CUevent event = nullptr;
    CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CU(cuEventRecord(event, stream));
    pending_.emplace_back(event, &block);
    ++block.pending;
  }
  block.recorded.clear();
  if (block.pending == 0) free_[{block.owner, block.bytes, block.address}] = &block;
}

}  // namespace ss::incidents
