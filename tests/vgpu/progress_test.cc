// What happens when somebody does not get on: host functions that block, waits that cannot end,
// hosts that make no calls. Each test runs in a process of its own: the environment is read once.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "device.h"

namespace ss::vgpu_test {
namespace {

// A wait that cannot end names who waits for what.
TEST(DriverDeathTest, AWaitThatCannotEndIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VGPU_TIMEOUT_MS", "100", 1);
        setenv("VGPU_PATIENCE_MS", "10", 1);
        Device device("eager", 0);
        CUstream blocked = device.Stream();
        CUstream waiting = device.Stream();
        CUevent event = device.Event();
        (void)cuLaunchHostFunc(
            blocked, [](void*) { pause(); }, nullptr);
        device.Record(event, blocked);
        device.Wait(waiting, event);
        const CUresult result = cuStreamSynchronize(waiting);
        _exit(result == CUDA_ERROR_LAUNCH_TIMEOUT ? 3 : 4);
      },
      testing::ExitedWithCode(3),
      "waits in vain for op [0-9]+ \\(wait\\)(.|\n)*host function\\) has begun and does not "
      "end(.|\n)*"
      "waits for op [0-9]+ \\(record\\)");
}

// A host function that waits for the host thread holds up its own stream only.
void RunWithBlockedHostFunction(const char* policy) {
  Device device(policy, 3);
  CUstream blocked = device.Stream(), other = device.Stream();
  std::atomic<bool> go{false};
  EXPECT_CU(cuLaunchHostFunc(
      blocked,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) usleep(100);
      },
      &go));
  CUevent unblocked = device.Event();
  device.Record(unblocked, blocked);
  device.Mark(blocked, 1);
  device.Mark(other, 2);
  EXPECT_CU(cuStreamSynchronize(other));
  EXPECT_EQ(Log{2}, device.ReadLog()) << policy;
  device.Wait(other, unblocked);
  device.Mark(other, 3);
  go = true;
  EXPECT_CU(cuCtxSynchronize());
  const Log log = device.ReadLog();
  EXPECT_EQ(3u, log.size()) << policy;
  if (std::string(policy) == "eager") {
    EXPECT_EQ((Log{2, 1, 3}), log);
  }
}

TEST(DriverDeathTest, ABlockedHostFunctionHoldsUpItsStreamOnly) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VGPU_PATIENCE_MS", "50", 1);
        for (const char* policy : {"eager", "lazy", "random", "pct"})
          RunWithBlockedHostFunction(policy);
        _exit(testing::Test::HasFailure() ? 4 : 3);
      },
      testing::ExitedWithCode(3), "");
}

// A program may wait for the device without a call: by looking at memory.
TEST(DriverDeathTest, TheDeviceGoesOnWhileTheHostLooksAtMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VGPU_IDLE_MS", "20", 1);
        Device device("lazy", 0);
        CUdeviceptr flag = device.Memory(4);
        device.Store(nullptr, flag, 1, 1);
        int waited = 0;
        while (*View<volatile uint32_t>(flag) == 0 && ++waited < 5000) usleep(1000);
        _exit(waited < 5000 ? 3 : 4);
      },
      testing::ExitedWithCode(3), "");
}

// While one thread waits for a stream, another may write the value that the stream waits for.
TEST(DriverDeathTest, AValueThatTheCpuWritesLaterIsWaitedFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        for (const char* policy : {"eager", "lazy", "random", "pct"}) {
          Device device(policy, 1);
          CUstream stream = device.Stream();
          void* value = nullptr;
          EXPECT_CU(cuMemHostAlloc(&value, 4, 0));
          const auto address = reinterpret_cast<CUdeviceptr>(value);
          EXPECT_CU(cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
          device.Mark(stream, 1);
          std::atomic<bool> waits{false};
          std::thread writer([&] {
            while (!waits) usleep(100);
            usleep(5000);
            std::atomic_ref(*static_cast<uint32_t*>(value)) = 1;
          });
          waits = true;
          EXPECT_CU(cuStreamSynchronize(stream));
          writer.join();
          EXPECT_EQ(Log{1}, device.ReadLog()) << policy;
        }
        _exit(testing::Test::HasFailure() ? 4 : 3);
      },
      testing::ExitedWithCode(3), "");
}

TEST(DriverDeathTest, UnreadableOptionsAreReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("VGPU_SCHED", "quick", 1);
        setenv("VGPU_DEVICES", "3x", 1);
        int count = 0;
        (void)cuInit(0);
        (void)cuDeviceGetCount(&count);
        _exit(count == 2 ? 3 : 4);
      },
      testing::ExitedWithCode(3), "VGPU_SCHED=quick: expected(.|\n)*VGPU_DEVICES=3x: expected");
}

}  // namespace
}  // namespace ss::vgpu_test
