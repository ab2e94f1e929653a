// Copies and fills: their data, and what of them the host waits for (rules 9 and 12).
#include <cstring>
#include <numeric>

#include "device.h"

namespace ss::vgpu_test {
namespace {

constexpr uint32_t kWords = 64;
constexpr size_t kBytes = kWords * sizeof(uint32_t);

// A word array that the driver knows as pinned, or does not know at all.
struct HostWords {
  explicit HostWords(bool pinned) {
    if (pinned) {
      void* memory = nullptr;
      EXPECT_CU(cuMemAllocHost(&memory, kBytes));
      words = static_cast<uint32_t*>(memory);
    } else {
      pageable.resize(kWords);
      words = pageable.data();
    }
    for (uint32_t i = 0; i < kWords; ++i) words[i] = 7;
  }
  std::vector<uint32_t> pageable;
  uint32_t* words;
};

// How many of `words` have the value `value`.
uint32_t Count(const uint32_t* words, uint32_t value) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < kWords; ++i) count += words[i] == value;
  return count;
}

// Over all schedules: the smallest and largest number that `program` returns.
struct Range {
  uint32_t least = UINT32_MAX, most = 0;
};
Range Observe(const std::function<uint32_t(Device&)>& program) {
  Range range;
  ForSchedules(
      [&](Device& device) {
        const uint32_t seen = program(device);
        range.least = std::min(range.least, seen);
        range.most = std::max(range.most, seen);
      },
      150);
  return range;
}

// --- what the host may see after the call returned ---

TEST(Copy, AsyncPinnedDeviceToHostMayStillBeUnderWay) {
  const Range range = Observe([](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr source = device.Memory(kBytes);
    HostWords host(true);
    device.Store(stream, source, 9, kWords);
    EXPECT_CU(cuMemcpyDtoHAsync(host.words, source, kBytes, stream));
    const uint32_t seen = Count(host.words, 9);
    EXPECT_CU(cuStreamSynchronize(stream));
    EXPECT_EQ(kWords, Count(host.words, 9));
    return seen;
  });
  EXPECT_EQ(0u, range.least);
  EXPECT_EQ(kWords, range.most);
}

TEST(Copy, DeviceToPageableReturnsAfterCompletion) {
  const Range range = Observe([](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr source = device.Memory(kBytes);
    HostWords host(false);
    device.Store(stream, source, 9, kWords);
    EXPECT_CU(cuMemcpyDtoHAsync(host.words, source, kBytes, stream));
    return Count(host.words, 9);
  });
  EXPECT_EQ(kWords, range.least);
}

TEST(Copy, BlockingDeviceToHostReturnsAfterCompletion) {
  for (bool pinned : {false, true}) {
    const Range range = Observe([=](Device& device) {
      CUdeviceptr source = device.Memory(kBytes);
      HostWords host(pinned);
      device.Store(nullptr, source, 9, kWords);
      EXPECT_CU(cuMemcpyDtoH(host.words, source, kBytes));
      return Count(host.words, 9);
    });
    EXPECT_EQ(kWords, range.least);
  }
}

TEST(Copy, HostToHostIsSynchronous) {
  const Range range = Observe([](Device& device) {
    CUstream stream = device.Stream();
    HostWords from(true), to(true);
    for (uint32_t i = 0; i < kWords; ++i) from.words[i] = 9;
    EXPECT_CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to.words),
                            reinterpret_cast<CUdeviceptr>(from.words), kBytes, stream));
    return Count(to.words, 9);
  });
  EXPECT_EQ(kWords, range.least);
}

// The host overwrites its buffer right after the call; counts the words that arrived before that.
Range OverwriteAfter(bool pinned, bool blocking) {
  return Observe([=](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr target = device.Memory(kBytes);
    HostWords host(pinned);
    EXPECT_CU(blocking ? cuMemcpyHtoD(target, host.words, kBytes)
                       : cuMemcpyHtoDAsync(target, host.words, kBytes, stream));
    for (uint32_t i = 0; i < kWords; ++i) host.words[i] = 8;
    EXPECT_CU(cuCtxSynchronize());
    return Count(View<uint32_t>(target), 7);
  });
}

TEST(Copy, APinnedSourceIsReadLater) {
  const Range range = OverwriteAfter(true, false);
  EXPECT_EQ(0u, range.least);
  EXPECT_EQ(kWords, range.most);
}

TEST(Copy, APageableSourceIsFreeAtReturn) { EXPECT_EQ(kWords, OverwriteAfter(false, false).least); }

TEST(Copy, ABlockingSourceIsFreeAtReturn) {
  EXPECT_EQ(kWords, OverwriteAfter(false, true).least);
  EXPECT_EQ(kWords, OverwriteAfter(true, true).least);
}

// What is on the device when the call has returned.
Range ArrivedAtReturn(bool pinned, bool blocking) {
  return Observe([=](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr target = device.Memory(kBytes);
    HostWords host(pinned);
    EXPECT_CU(blocking ? cuMemcpyHtoD(target, host.words, kBytes)
                       : cuMemcpyHtoDAsync(target, host.words, kBytes, stream));
    return Count(View<uint32_t>(target), 7);
  });
}

TEST(Copy, APageableCopyMayStillBeInFlightAtReturn) {
  for (bool blocking : {false, true}) {
    const Range range = ArrivedAtReturn(false, blocking);
    EXPECT_EQ(0u, range.least);
    EXPECT_EQ(kWords, range.most);
  }
}

TEST(Copy, ABlockingPinnedCopyHasArrived) { EXPECT_EQ(kWords, ArrivedAtReturn(true, true).least); }

TEST(Copy, DeviceToDeviceDoesNotBlock) {
  const Range range = Observe([](Device& device) {
    CUdeviceptr source = device.Memory(kBytes), target = device.Memory(kBytes);
    device.Store(nullptr, source, 9, kWords);
    EXPECT_CU(cuMemcpyDtoD(target, source, kBytes));
    const uint32_t seen = Count(View<uint32_t>(target), 9);
    EXPECT_CU(cuCtxSynchronize());
    EXPECT_EQ(kWords, Count(View<uint32_t>(target), 9));
    return seen;
  });
  EXPECT_EQ(0u, range.least);
}

TEST(Copy, MemsetWaitsForPinnedAndManagedTargetsOnly) {
  enum Target { kDevice, kPinned, kManaged };
  const auto observe = [](Target kind, bool blocking) {
    return Observe([=](Device& device) {
      CUdeviceptr target = 0;
      void* pinned = nullptr;
      if (kind == kDevice) target = device.Memory(kBytes);
      if (kind == kPinned) {
        EXPECT_CU(cuMemAllocHost(&pinned, kBytes));
        target = reinterpret_cast<CUdeviceptr>(pinned);
      }
      if (kind == kManaged) {
        EXPECT_CU(cuMemAllocManaged(&target, kBytes, CU_MEM_ATTACH_GLOBAL));
      }
      EXPECT_CU(blocking ? cuMemsetD32(target, 9, kWords)
                         : cuMemsetD32Async(target, 9, kWords, nullptr));
      return Count(View<uint32_t>(target), 9);
    });
  };
  EXPECT_EQ(0u, observe(kDevice, true).least);
  EXPECT_EQ(kWords, observe(kPinned, true).least);
  EXPECT_EQ(kWords, observe(kManaged, true).least);
  EXPECT_EQ(0u, observe(kPinned, false).least);
  EXPECT_EQ(0u, observe(kManaged, false).least);
}

// --- order against other streams ---

TEST(Copy, TheBlockingFormRunsOnTheLegacyStream) {
  const Range range = Observe([](Device& device) {
    CUstream blocking = device.Stream(CU_STREAM_DEFAULT);
    CUdeviceptr source = device.Memory(kBytes);
    HostWords host(false);
    device.Store(blocking, source, 9, kWords);
    EXPECT_CU(cuMemcpyDtoH(host.words, source, kBytes));
    return Count(host.words, 9);
  });
  EXPECT_EQ(kWords, range.least);
  const Range unordered = Observe([](Device& device) {
    CUstream free = device.Stream();
    CUdeviceptr source = device.Memory(kBytes);
    HostWords host(false);
    device.Store(free, source, 9, kWords);
    EXPECT_CU(cuMemcpyDtoH(host.words, source, kBytes));
    return Count(host.words, 9);
  });
  EXPECT_EQ(0u, unordered.least);
}

// What a reading kernel of four blocks sums up while `write` sets all words to 1 on another stream.
std::set<uint32_t> SumsBeside(const std::function<void(Device&, CUstream, CUdeviceptr)>& write) {
  std::set<uint32_t> sums;
  ForSchedules(
      [&](Device& device) {
        CUstream reader = device.Stream(), writer = device.Stream();
        CUdeviceptr data = device.Memory(kBytes), result = device.Memory(4);
        device.Sum(reader, data, kWords, result);
        write(device, writer, data);
        EXPECT_CU(cuCtxSynchronize());
        sums.insert(*View<uint32_t>(result));
      },
      200);
  return sums;
}

TEST(Copy, AFillCanLandInTheMiddleOfAReader) {
  const auto sums = SumsBeside([](Device&, CUstream writer, CUdeviceptr data) {
    EXPECT_CU(cuMemsetD32Async(data, 1, kWords, writer));
  });
  EXPECT_TRUE(sums.contains(0));
  EXPECT_TRUE(sums.contains(kWords));
  EXPECT_GT(sums.size(), 4u);  // and a few in between
}

TEST(Copy, AKernelCanBeInterrupted) {
  const auto sums = SumsBeside([](Device& device, CUstream writer, CUdeviceptr data) {
    device.Store(writer, data, 1, kWords);
  });
  EXPECT_TRUE(sums.contains(0));
  EXPECT_TRUE(sums.contains(kWords));
  EXPECT_GT(sums.size(), 4u);
}

// --- data ---

TEST(Copy, LinearForms) {
  ForSchedules([](Device& device) {
    CUstream stream = device.Stream();
    CUdeviceptr a = device.Memory(kBytes), b = device.Memory(kBytes);
    std::vector<uint32_t> in(kWords), out(kWords);
    std::iota(in.begin(), in.end(), 100u);
    EXPECT_CU(cuMemcpyHtoDAsync(a, in.data(), kBytes, stream));
    EXPECT_CU(cuMemcpyDtoDAsync(b, a + 16, kBytes - 16, stream));
    EXPECT_CU(
        cuMemcpyPeerAsync(b + kBytes - 16, device.context(), a, device.context(), 16, stream));
    EXPECT_CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(out.data()), b, kBytes, stream));
    EXPECT_EQ(104u, out[0]);
    EXPECT_EQ(100u + kWords - 1, out[kWords - 5]);
    EXPECT_EQ(100u, out[kWords - 4]);
    EXPECT_EQ(103u, out[kWords - 1]);
  });
}

TEST(Copy, TwoAndThreeDimensions) {
  ForSchedules([](Device&) {
    CUdeviceptr image = 0;
    size_t pitch = 0;
    EXPECT_CU(cuMemAllocPitch(&image, &pitch, 5, 4, 4));
    EXPECT_EQ(512u, pitch);
    const char text[] = "abcdefghijklmnopqrst";
    CUDA_MEMCPY2D up{};
    up.srcMemoryType = CU_MEMORYTYPE_HOST;
    up.srcHost = text;
    up.srcPitch = 5;
    up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    up.dstDevice = image;
    up.dstPitch = pitch;
    up.WidthInBytes = 5;
    up.Height = 4;
    EXPECT_CU(cuMemcpy2D(&up));
    char back[9] = {};
    CUDA_MEMCPY3D down{};
    down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    down.srcDevice = image;
    down.srcPitch = pitch;
    down.srcHeight = 2;
    down.srcXInBytes = 1;
    down.srcY = 1;
    down.dstMemoryType = CU_MEMORYTYPE_HOST;
    down.dstHost = back;
    down.dstPitch = 2;
    down.dstHeight = 2;
    down.WidthInBytes = 2;
    down.Height = 1;
    down.Depth = 2;
    EXPECT_CU(cuMemcpy3D(&down));
    EXPECT_EQ('g', back[0]);  // row 1
    EXPECT_EQ('h', back[1]);
    EXPECT_EQ('q', back[4]);  // row 3 = slice 1
    EXPECT_EQ('r', back[5]);
  });
}

TEST(Copy, MemsetUnits) {
  ForSchedules([](Device& device) {
    CUdeviceptr target = device.Memory(kBytes);
    EXPECT_CU(cuMemsetD8(target, 0x11, 4));
    EXPECT_CU(cuMemsetD16(target + 4, 0x2222, 2));
    EXPECT_CU(cuMemsetD32Async(target + 8, 0x33333333, 2, nullptr));
    EXPECT_CU(cuMemsetD2D16(target + 16, 8, 0x4444, 2, 3));
    EXPECT_CU(cuCtxSynchronize());
    const uint32_t expected[] = {0x11111111, 0x22222222, 0x33333333, 0x33333333, 0x44444444,
                                 0,          0x44444444, 0,          0x44444444, 0};
    EXPECT_EQ(0, std::memcmp(expected, View<void>(target), sizeof expected));
  });
}

TEST(Copy, RefusesWhatIsOutOfBounds) {
  Device device("eager", 0);
  CUdeviceptr target = device.Memory(kBytes);
  char host[kBytes + 1];
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(target, host, kBytes + 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, target + 1, kBytes));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host), host, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(0, 0, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(target + 1, 0, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, 0, 4));
  EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(host, 0, 0));
  CUDA_MEMCPY2D array{};
  array.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  array.WidthInBytes = 4;
  array.Height = 1;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemcpy2D(&array));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(nullptr));
}

}  // namespace
}  // namespace ss::vgpu_test
