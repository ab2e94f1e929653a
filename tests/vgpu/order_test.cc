// The ordering rules, both ways: what is ordered never inverts, what is not does under some seed.
#include <thread>

#include "device.h"

namespace ss::vgpu_test {
namespace {

constexpr unsigned kBlocking = CU_STREAM_DEFAULT;
constexpr CUstream kLegacy = nullptr;

TEST(Order, OneStreamIsInOrderAndTwoAreNot) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    device.Mark(a, 1);
    device.Mark(a, 2);
    device.Mark(b, 3);
  });
  EXPECT_ORDERED(logs, 1, 2);
  EXPECT_UNORDERED(logs, 1, 3);
  EXPECT_UNORDERED(logs, 2, 3);
}

TEST(Order, WorkOfADestroyedStreamStillCounts) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    CUstream blocking = device.Stream(kBlocking);
    device.Mark(a, 1);
    device.Mark(blocking, 2);
    EXPECT_CU(cuStreamDestroy(a));
    EXPECT_CU(cuStreamDestroy(blocking));
    device.Mark(b, 3);
    device.Mark(kLegacy, 4);
    EXPECT_CU(cuCtxSynchronize());
    device.HostMark(5);
  });
  EXPECT_UNORDERED(logs, 1, 3);
  EXPECT_ORDERED(logs, 2, 4);
  EXPECT_ORDERED(logs, 1, 5);
}

#if CUDA_VERSION >= 12050
CUgreenCtx MakeGreen() {
  CUdevResource all, group;
  unsigned count = 1;
  CUdevResourceDesc description;
  CUgreenCtx green = nullptr;
  EXPECT_CU(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_CU(cuDevSmResourceSplitByCount(&group, &count, &all, nullptr, 0, 16));
  EXPECT_CU(cuDevResourceGenerateDesc(&description, &group, 1));
  EXPECT_CU(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  return green;
}
CUstream StreamOf(CUgreenCtx green) {
  CUstream stream = nullptr;
  EXPECT_CU(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  return stream;
}

template <typename F>
void In(CUgreenCtx green, const Device& device, F f) {
  CUcontext converted = nullptr;
  EXPECT_CU(cuCtxFromGreenCtx(&converted, green));
  EXPECT_CU(cuCtxSetCurrent(converted));
  f();
  EXPECT_CU(cuCtxSetCurrent(device.context()));
}

TEST(Order, RecordOverAContextCoversItsStreamsAndIsNoBarrier) {
  const auto logs = Schedules([](Device& device) {
    CUgreenCtx green = MakeGreen();
    CUstream a = device.Stream(), b = device.Stream(), g = StreamOf(green);
    CUevent all = device.Event(), part = device.Event();
    device.Mark(a, 1);
    device.Mark(g, 2);
    EXPECT_CU(cuCtxRecordEvent(device.context(), all));
    EXPECT_CU(cuGreenCtxRecordEvent(green, part));
    device.Mark(a, 3);
    CUstream c = device.Stream();
    device.Mark(c, 4);
    device.Wait(b, part);
    device.Mark(b, 5);
    device.Wait(b, all);
    device.Mark(b, 6);
  });
  EXPECT_ORDERED(logs, 2, 5);
  EXPECT_UNORDERED(logs, 1, 5);
  EXPECT_ORDERED(logs, 1, 6);
  EXPECT_UNORDERED(logs, 3, 6);
  EXPECT_UNORDERED(logs, 1, 4);
}

TEST(Order, WaitOfAContextHoldsUpItsStreamsAndLaterOnes) {
  const auto logs = Schedules([](Device& device) {
    CUgreenCtx green = MakeGreen(), other = MakeGreen();
    CUstream a = device.Stream(), b = device.Stream(), g = StreamOf(green), o = StreamOf(other);
    CUevent event = device.Event();
    device.Mark(a, 1);
    device.Record(event, a);
    EXPECT_CU(cuGreenCtxWaitEvent(green, event));
    device.Mark(g, 2);
    device.Mark(StreamOf(green), 3);
    device.Mark(o, 4);
    device.Mark(b, 5);
    EXPECT_CU(cuCtxWaitEvent(device.context(), event));
    device.Mark(b, 6);
    device.Mark(kLegacy, 7);
    device.Mark(o, 8);
    device.Mark(StreamOf(MakeGreen()), 9);
  });
  for (uint32_t held_up : {2, 3, 6, 7, 8, 9}) EXPECT_ORDERED(logs, 1, held_up);
  EXPECT_UNORDERED(logs, 1, 4);
  EXPECT_UNORDERED(logs, 1, 5);
}

// A record over a green context is behind what the primary one was made to wait for.
TEST(Order, RecordOverAContextCoversWhatItWaitsFor) {
  const auto logs = Schedules([](Device& device) {
    CUgreenCtx green = MakeGreen();
    CUstream a = device.Stream();
    CUevent before = device.Event(), after = device.Event();
    device.Mark(a, 1);
    device.Record(before, a);
    EXPECT_CU(cuCtxWaitEvent(device.context(), before));
    EXPECT_CU(cuGreenCtxRecordEvent(green, after));
    EXPECT_CU(cuEventSynchronize(after));
    device.HostMark(2);
  });
  EXPECT_ORDERED(logs, 1, 2);
}

TEST(Order, StreamsOfAGreenContextAreNotBlocking) {
  const auto logs = Schedules([](Device& device) {
    In(MakeGreen(), device, [&] {
      device.Mark(device.Stream(kBlocking), 1);
      device.Mark(kLegacy, 2);
    });
  });
  EXPECT_UNORDERED(logs, 1, 2);
}

TEST(Order, DestroyingAGreenContextWaitsForItsWork) {
  const auto logs = Schedules([](Device& device) {
    CUgreenCtx green = MakeGreen(), other = MakeGreen();
    device.Mark(StreamOf(green), 1);
    device.Mark(StreamOf(other), 2);
    EXPECT_CU(cuGreenCtxDestroy(green));
    device.HostMark(3);
  });
  EXPECT_ORDERED(logs, 1, 3);
  EXPECT_UNORDERED(logs, 2, 3);
}

TEST(Order, EventsOverAContextSpoilACaptureOfItsStreams) {
  ForSchedules(
      [](Device& device) {
        CUgreenCtx green = MakeGreen(), other = MakeGreen();
        CUevent event = device.Event();
        CUstream stream = StreamOf(green);
        auto ends = [&](auto call, CUgreenCtx context) {
          CUgraph graph = nullptr;
          EXPECT_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
          const CUresult said = call(context, event), end = cuStreamEndCapture(stream, &graph);
          EXPECT_EQ(said == CUDA_SUCCESS, end == CUDA_SUCCESS);
          return said;
        };
        EXPECT_CU(ends(cuGreenCtxRecordEvent, other));
        EXPECT_CU(ends(cuGreenCtxWaitEvent, other));
        EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, ends(cuGreenCtxRecordEvent, green));
        EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, ends(cuGreenCtxWaitEvent, green));
      },
      1);
}

TEST(Order, RecordsOverAContextTakeEventsOfItsDevice) {
  ForSchedules(
      [](Device& device) {
        CUcontext second = nullptr;
        EXPECT_CU(cuDevicePrimaryCtxRetain(&second, 1));
        CUevent here = device.Event();
        EXPECT_CU(cuCtxSetCurrent(second));
        CUevent there = device.Event();
        EXPECT_CU(cuCtxRecordEvent(second, there));
        EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent(second, here));
        EXPECT_CU(cuCtxWaitEvent(second, here));
        EXPECT_CU(cuCtxSetCurrent(device.context()));
      },
      1);
}

TEST(Order, SynchronisingThePrimaryContextIncludesItsGreenOnes) {
  const auto logs = Schedules([](Device& device) {
    CUgreenCtx green = MakeGreen(), other = MakeGreen();
    device.Mark(StreamOf(green), 1);
    In(other, device, [] { EXPECT_CU(cuCtxSynchronize()); });
    device.HostMark(2);
    EXPECT_CU(cuCtxSynchronize());
    device.HostMark(3);
  });
  EXPECT_UNORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 1, 3);
}
#endif

TEST(Order, LegacyStreamOrdersWithBlockingStreamsOnly) {
  const auto logs = Schedules([](Device& device) {
    CUstream blocking = device.Stream(kBlocking), other = device.Stream(kBlocking);
    CUstream free = device.Stream();
    device.Mark(blocking, 1);
    device.Mark(other, 2);
    device.Mark(free, 3);
    device.Mark(kLegacy, 4);
    device.Mark(blocking, 5);
    device.Mark(other, 6);
    device.Mark(free, 7);
  });
  EXPECT_UNORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 1, 4);
  EXPECT_ORDERED(logs, 2, 4);
  EXPECT_UNORDERED(logs, 3, 4);
  EXPECT_ORDERED(logs, 4, 5);
  EXPECT_ORDERED(logs, 4, 6);
  EXPECT_UNORDERED(logs, 4, 7);
  EXPECT_ORDERED(logs, 1, 6);
  EXPECT_UNORDERED(logs, 5, 6);
}

TEST(Order, ARecordOnTheLegacyStreamIsAnOperationOfIt) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(kBlocking), b = device.Stream(kBlocking);
    device.Mark(a, 1);
    device.Record(device.Event(), kLegacy);
    device.Mark(b, 2);
  });
  EXPECT_ORDERED(logs, 1, 2);
}

TEST(Order, AWaitOnTheLegacyStreamReachesBlockingStreams) {
  const auto logs = Schedules([](Device& device) {
    CUstream free = device.Stream(), blocking = device.Stream(kBlocking);
    CUevent event = device.Event();
    device.Mark(free, 1);
    device.Record(event, free);
    device.Wait(kLegacy, event);
    device.Mark(blocking, 2);
    device.Mark(device.Stream(), 3);
  });
  EXPECT_ORDERED(logs, 1, 2);
  EXPECT_UNORDERED(logs, 1, 3);
}

TEST(Order, SynchronisingTheLegacyStreamWaitsForBlockingStreams) {
  const auto logs = Schedules([](Device& device) {
    device.Mark(device.Stream(kBlocking), 1);
    device.Mark(device.Stream(), 2);
    EXPECT_CU(cuStreamSynchronize(kLegacy));
    device.HostMark(3);
  });
  EXPECT_ORDERED(logs, 1, 3);
  EXPECT_UNORDERED(logs, 2, 3);
}

TEST(Order, HandleOneIsLegacyAndTwoIsPerThread) {
  const auto logs = Schedules([](Device& device) {
    CUstream blocking = device.Stream(kBlocking);
    device.Mark(blocking, 1);
    device.Mark(CU_STREAM_LEGACY, 2);
    device.Mark(CU_STREAM_LEGACY, 3, true);
    device.Mark(CU_STREAM_PER_THREAD, 4);
    device.Mark(nullptr, 5, true);
    device.Mark(blocking, 6);
  });
  EXPECT_ORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 2, 3);
  EXPECT_ORDERED(logs, 3, 4);
  EXPECT_ORDERED(logs, 4, 5);
  EXPECT_UNORDERED(logs, 5, 6);
}

TEST(Order, PerThreadStreamsAreOneLaneAThread) {
  const auto logs = Schedules([](Device& device) {
    device.Mark(nullptr, 1, true);
    std::thread([&] {
      EXPECT_CU(cuCtxSetCurrent(device.context()));
      device.Mark(nullptr, 2, true);
    }).join();
    device.Mark(kLegacy, 3);  // waits for what the thread left behind, too
    device.Mark(nullptr, 4, true);
  });
  EXPECT_UNORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 1, 3);
  EXPECT_ORDERED(logs, 2, 3);
  EXPECT_ORDERED(logs, 3, 4);
}

TEST(Order, TheLegacyStreamOfOneContextIsNotThatOfAnother) {
  const auto logs = Schedules([](Device& device) {
    CUcontext other = nullptr;
    device.Mark(device.Stream(kBlocking), 1);
    EXPECT_CU(cuCtxCreate(&other, nullptr, 0, 0));
    CUevent event = device.Event();
    EXPECT_CU(cuEventRecord(event, kLegacy));
    EXPECT_CU(cuEventSynchronize(event));
    EXPECT_CU(cuCtxSetCurrent(device.context()));
    device.HostMark(2);
  });
  EXPECT_UNORDERED(logs, 1, 2);
}

TEST(Order, AWaitSeesTheRecordAtTheCallAndNoMore) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream(), c = device.Stream();
    CUevent event = device.Event();
    device.Mark(a, 1);
    device.Record(event, a);
    device.Mark(a, 2);
    device.Wait(b, event);
    device.Mark(b, 3);
    device.Record(event, a);  // overwrites: b has taken the first, c takes this one
    device.Wait(c, event);
    device.Mark(c, 4);
  });
  EXPECT_ORDERED(logs, 1, 3);
  EXPECT_UNORDERED(logs, 2, 3);
  EXPECT_ORDERED(logs, 2, 4);
}

TEST(Order, AWaitBeforeTheRecordOrdersNothing) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    CUevent event = device.Event();
    device.Wait(b, event);
    device.Mark(a, 1);
    device.Record(event, a);
    device.Mark(b, 2);
  });
  EXPECT_UNORDERED(logs, 1, 2);
}

TEST(Order, AWaitSurvivesItsEvent) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    CUevent event = device.Event();
    device.Mark(a, 1);
    device.Record(event, a);
    device.Wait(b, event);
    EXPECT_CU(cuEventDestroy(event));
    device.Mark(b, 2);
  });
  EXPECT_ORDERED(logs, 1, 2);
}

TEST(Order, WaitsCrossDevicesAndRecordsDoNot) {
  const auto logs = Schedules([](Device& device) {
    CUstream here = device.Stream();
    CUevent event = device.Event();
    device.Mark(here, 1);
    device.Record(event, here);
    CUcontext other = nullptr;
    EXPECT_CU(cuDevicePrimaryCtxRetain(&other, 1));
    EXPECT_CU(cuCtxSetCurrent(other));
    CUstream there = device.Stream();
    EXPECT_CU(cuStreamWaitEvent(there, event, 0));
    EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, there));
    CUevent arrived = device.Event();
    EXPECT_CU(cuEventRecord(arrived, there));
    EXPECT_CU(cuEventSynchronize(arrived));
    device.HostMark(2);
  });
  EXPECT_ORDERED(logs, 1, 2);
}

TEST(Order, HostWaits) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    CUevent event = device.Event();
    device.Mark(a, 1);
    device.Record(event, a);
    device.Mark(a, 2);
    device.Mark(b, 3);
    EXPECT_CU(cuEventSynchronize(event));
    device.HostMark(4);
    EXPECT_CU(cuStreamSynchronize(a));
    device.HostMark(5);
    EXPECT_CU(cuCtxSynchronize());
    device.HostMark(6);
  });
  EXPECT_ORDERED(logs, 1, 4);
  EXPECT_UNORDERED(logs, 2, 4);
  EXPECT_ORDERED(logs, 2, 5);
  EXPECT_UNORDERED(logs, 3, 5);
  EXPECT_ORDERED(logs, 3, 6);
}

TEST(Order, ContextSynchroniseCoversTheCurrentContextOnly) {
  const auto logs = Schedules([](Device& device) {
    CUcontext other = nullptr;
    EXPECT_CU(cuDevicePrimaryCtxRetain(&other, 1));
    device.Mark(device.Stream(), 1);
    EXPECT_CU(cuCtxSetCurrent(other));
    EXPECT_CU(cuCtxSynchronize());
    device.HostMark(2);
  });
  EXPECT_UNORDERED(logs, 1, 2);
}

TEST(Order, AQueryThatSucceedsHasSeenTheWorkDone) {
  const auto logs = Schedules([](Device& device) {
    CUstream stream = device.Stream();
    CUevent event = device.Event();
    device.Mark(stream, 1);
    device.Record(event, stream);
    int tries = 0;
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) ASSERT_LT(++tries, 1000);
    device.HostMark(2);
    device.Mark(stream, 3);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) ASSERT_LT(++tries, 1000);
    device.HostMark(4);
  });
  EXPECT_ORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 3, 4);
}

TEST(Order, AQueryOfTheLegacyStreamSpeaksForTheBlockingStreams) {
  const auto logs = Schedules([](Device& device) {
    device.Mark(device.Stream(CU_STREAM_DEFAULT), 1);
    device.Mark(device.Stream(CU_STREAM_NON_BLOCKING), 2);
    int tries = 0;
    while (cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY) ASSERT_LT(++tries, 1000);
    device.HostMark(3);
  });
  EXPECT_ORDERED(logs, 1, 3);
  EXPECT_UNORDERED(logs, 2, 3);
}

TEST(Order, AQueryThatDoesNotSucceedOrdersNothing) {
  const auto logs = Schedules([](Device& device) {
    CUstream stream = device.Stream();
    device.Mark(stream, 1);
    (void)cuStreamQuery(stream);
    device.HostMark(2);
  });
  EXPECT_UNORDERED(logs, 1, 2);
}

TEST(Order, HostFunctionsRunInStreamOrder) {
  const auto logs = Schedules([](Device& device) {
    CUstream a = device.Stream(), b = device.Stream();
    device.Mark(a, 1);
    EXPECT_CU(cuLaunchHostFunc(
        a, [](void* d) { static_cast<Device*>(d)->HostMark(2); }, &device));
    device.Mark(a, 3);
    EXPECT_CU(cuStreamAddCallback(
        a, [](CUstream, CUresult, void* d) { static_cast<Device*>(d)->HostMark(4); }, &device, 0));
    device.Mark(b, 5);
    device.HostMark(6);
  });
  EXPECT_ORDERED(logs, 1, 2);
  EXPECT_ORDERED(logs, 2, 3);
  EXPECT_ORDERED(logs, 3, 4);
  EXPECT_UNORDERED(logs, 2, 5);
  EXPECT_UNORDERED(logs, 2, 6);
}

}  // namespace
}  // namespace ss::vgpu_test
