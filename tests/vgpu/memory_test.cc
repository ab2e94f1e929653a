// Allocation: address ranges, reuse, what frees wait for (rules 16 and 17), pointer attributes.
#include "device.h"

namespace ss::vgpu_test {
namespace {

TEST(Memory, AddressesAreRecognisableAndReused) {
  Device device("eager", 0);
  CUdeviceptr a = device.Memory(1000), b = device.Memory(1000);
  EXPECT_EQ(0x7e90'0000'0000u, a & 0xffff'0000'0000u);
  EXPECT_EQ(1024u, b - a);
  EXPECT_CU(cuMemFree(a));
  EXPECT_EQ(a, device.Memory(512));
  EXPECT_EQ(a + 512, device.Memory(100));
  void* pinned = nullptr;
  EXPECT_CU(cuMemHostAlloc(&pinned, 8, 0));
  EXPECT_EQ(0x7ea0'0000'0000u, reinterpret_cast<uint64_t>(pinned) & 0xffff'0000'0000u);
}

TEST(Memory, ErrorsOfAllocationAndFree) {
  Device device("eager", 0);
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&address, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(nullptr, 8));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, size_t{1} << 40));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, SIZE_MAX));
  EXPECT_CU(cuMemFree(0));
  address = device.Memory(8);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address + 4));
  EXPECT_CU(cuMemFree(address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(&address));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(nullptr));
}

TEST(Memory, FreeGivesTheBytesBack) {
  Device device("eager", 0);
  size_t before = 0, during = 0, after = 0, total = 0;
  EXPECT_CU(cuMemGetInfo(&before, &total));
  CUdeviceptr address = device.Memory(1 << 20);
  EXPECT_CU(cuMemGetInfo(&during, &total));
  EXPECT_CU(cuMemFree(address));
  EXPECT_CU(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - (1 << 20), during);
  EXPECT_EQ(before, after);
}

TEST(Memory, FreeWaitsForTheDeviceAndFreeHostDoesNot) {
  const auto logs = Schedules([](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr memory = device.Memory(8);
    void* pinned = nullptr;
    EXPECT_CU(cuMemAllocHost(&pinned, 8));
    device.Mark(stream, 1);
    EXPECT_CU(cuMemFreeHost(pinned));
    device.HostMark(2);
    device.Mark(stream, 3);
    EXPECT_CU(cuMemFree(memory));
    device.HostMark(4);
  });
  EXPECT_UNORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 3, 4);
}

// The next tenant of pinned memory gets what a copy that nobody waited for still writes.
TEST(Memory, ACopyIntoFreedPinnedMemoryDamagesTheNextTenant) {
  bool damaged = false, spared = false;
  ForSchedules([&](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr source = device.Memory(64);
    device.Store(stream, source, 9, 16);
    void *first = nullptr, *second = nullptr;
    EXPECT_CU(cuMemAllocHost(&first, 64));
    EXPECT_CU(cuMemcpyDtoHAsync(first, source, 64, stream));
    EXPECT_CU(cuMemFreeHost(first));
    EXPECT_CU(cuMemAllocHost(&second, 64));
    EXPECT_EQ(first, second);
    auto* words = static_cast<uint32_t*>(second);
    for (int i = 0; i < 16; ++i) words[i] = 5;
    EXPECT_CU(cuCtxSynchronize());
    (words[0] == 5 && words[15] == 5 ? spared : damaged) = true;
  });
  EXPECT_TRUE(damaged);
  EXPECT_TRUE(spared);
}

TEST(Memory, RegisteredMemory) {
  Device device("eager", 0);
  std::vector<char> own(4096);
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own.data()));
  EXPECT_CU(cuMemHostRegister(own.data(), own.size(), CU_MEMHOSTREGISTER_PORTABLE));
  EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(own.data() + 8, 8, 0));
  EXPECT_CU(cuMemHostGetDevicePointer(&address, own.data() + 8, 0));
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(own.data() + 8), address);
  unsigned flags = 0;
  EXPECT_CU(cuMemHostGetFlags(&flags, own.data()));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMHOSTREGISTER_PORTABLE), flags);
  EXPECT_CU(cuMemHostUnregister(own.data()));
}

TEST(Memory, PointerAttributes) {
  Device device("eager", 0);
  CUdeviceptr memory = device.Memory(100), managed = 0;
  EXPECT_CU(cuMemAllocManaged(&managed, 8, CU_MEM_ATTACH_GLOBAL));
  unsigned type = 0;
  CUdeviceptr start = 0;
  size_t size = 0;
  bool is_managed = true;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &start, &size, &is_managed};
  EXPECT_CU(cuPointerGetAttributes(4, names, values, memory + 10));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), type);
  EXPECT_EQ(memory, start);
  EXPECT_EQ(100u, size);
  EXPECT_FALSE(is_managed);
  EXPECT_CU(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
  EXPECT_TRUE(is_managed);
  int local = 0;
  const auto unknown = reinterpret_cast<CUdeviceptr>(&local);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown));
  EXPECT_CU(cuPointerGetAttributes(1, names, values, unknown));
  EXPECT_EQ(0u, type);
}

TEST(Pool, TheSameStreamGetsItsStorageBackAtOnce) {
  ForSchedules([](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr a = 0, b = 0;
    EXPECT_CU(cuMemAllocAsync(&a, 256, stream));
    device.Store(stream, a, 3, 64);
    EXPECT_CU(cuMemFreeAsync(a, stream));
    EXPECT_CU(cuMemAllocAsync(&b, 200, stream));
    EXPECT_EQ(a, b);
    device.Store(stream, b, 4, 50);
    EXPECT_CU(cuStreamSynchronize(stream));
    EXPECT_EQ(4u, View<uint32_t>(b)[49]);
    EXPECT_EQ(3u, View<uint32_t>(b)[50]);
  });
}

// Another stream gets it, too, and its allocation waits for the free; but only for that.
TEST(Pool, ReuseByAnotherStreamWaitsForTheFree) {
  const auto logs = Schedules([](Device& device) {
    CUstream owner = device.Stream(), other = device.Stream(), reader = device.Stream();
    CUdeviceptr a = 0, b = 0;
    EXPECT_CU(cuMemAllocAsync(&a, 256, owner));
    device.Mark(reader, 1);  // uses `a` without an edge to the free
    device.Mark(owner, 2);
    EXPECT_CU(cuMemFreeAsync(a, owner));
    EXPECT_CU(cuMemAllocAsync(&b, 256, other));
    EXPECT_EQ(a, b);
    device.Mark(other, 3);
  });
  EXPECT_ORDERED(logs, 2, 3);
  EXPECT_UNORDERED(logs, 1, 3);
}

TEST(Pool, OwnPoolsAndAttributes) {
  Device device("eager", 0);
  CUstream stream = device.Stream();
  CUmemoryPool pool = nullptr, current = nullptr, def = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_CU(cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  EXPECT_CU(cuMemAllocFromPoolAsync(&address, 1000, pool, stream));
  cuuint64_t used = 0;
  EXPECT_CU(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
  EXPECT_EQ(1024u, used);
  CUmemoryPool of_pointer = nullptr;
  EXPECT_CU(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
  EXPECT_EQ(pool, of_pointer);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
  EXPECT_CU(cuMemFree(address));
  EXPECT_CU(cuDeviceGetDefaultMemPool(&def, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(def));
  EXPECT_CU(cuDeviceSetMemPool(0, pool));
  EXPECT_CU(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(pool, current);
  EXPECT_CU(cuMemPoolDestroy(pool));
  EXPECT_CU(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(def, current);
}

}  // namespace
}  // namespace ss::vgpu_test
