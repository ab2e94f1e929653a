// Switches that a test build turns off one at a time, to prove that some case notices
// (docs/semantics.md). In every other build RuleOn() is the constant true.
#pragma once

#include <cstdint>

#include "src/base/rule.h"

namespace ss {

#define SS_RULES(X)                                                                       \
  X(StreamGeneration, "1", "a destroyed stream's handle that comes back is a new lane")   \
  X(HostKnowledge, "2", "an operation starts after what the issuing thread knows")        \
  X(HandOver, "3", "using a shared object acquires the other thread's clock")             \
  X(HandOff, "3h", "an explicit hand-over between host threads")                          \
  X(LegacyWaitsBlocking, "4a", "the legacy stream waits for all blocking streams")        \
  X(BlockingWaitsLegacy, "4b", "blocking streams wait for the legacy stream")             \
  X(NonBlockingApart, "4c", "non-blocking streams never order with the legacy stream")    \
  X(PerThreadLane, "4d", "a per-thread default stream is one lane per host thread")       \
  X(LegacySyncsBlocking, "4e", "synchronising the legacy stream covers blocking streams") \
  X(LatestRecord, "5a", "a record overwrites the previous one")                           \
  X(RecordSnapshot, "5b", "a wait takes the clock of the record, not the present one")    \
  X(UnrecordedWait, "5c", "waiting for an event never recorded orders nothing")           \
  X(SyncAcquires, "6a", "stream and event synchronisation acquire")                       \
  X(QueryAcquires, "6b", "a successful query acquires")                                   \
  X(NotReadyNothing, "6c", "a query that says not ready acquires nothing")                \
  X(DeviceSyncOneDevice, "6d", "device synchronisation covers one device")                \
  X(WaitCrossesDevices, "6e", "a wait crosses devices")                                   \
  X(LaunchEventEarly, "7", "a launch event fires when the kernel's blocks start")         \
  X(PinnedCopyAsync, "9a", "an async copy of pinned memory gives no host edge")           \
  X(BlockingCopySyncs, "9b", "a blocking copy with pinned memory waits")                  \
  X(PageableInFlight, "9c", "pageable to device: the device side may still be in flight") \
  X(DeviceToDeviceAsync, "9d", "device to device never waits for the host's sake")        \
  X(HostToHostSync, "9e", "host to host is synchronous")                                  \
  X(MemsetHostSync, "9f", "cudaMemset of host memory waits, cudaMemsetAsync never")       \
  X(PageableIncidental, "9g", "async pageable copies synchronise only incidentally")      \
  X(SourceOrder, "9h", "a source may be read out of the stream's order")                  \
  X(BatchUnordered, "9i", "the copies of one batch are in no order")                      \
  X(HostFunctionCpu, "10", "a host function's accesses are the CPU's, in stream order")   \
  X(AwaitAcquires, "11", "an await acquires the signal that it can match")                \
  X(HostAccessChecked, "12", "CPU accesses need the device's work acquired")              \
  X(Programmatic, "13", "a programmatic launch starts with its predecessor's start")      \
  X(GreenApart, "15a", "a green context is a context of its own")                         \
  X(GreenInPrimary, "15b", "the primary context includes its green contexts")             \
  X(ContextRecord, "15c", "a record over a context covers all its streams")               \
  X(ContextWait, "15d", "a wait of a context holds up all its streams, later ones too")   \
  X(FreeIncidental, "16a", "cudaFree synchronises only incidentally")                     \
  X(FreeHostJudged, "16b", "cudaFreeHost does not synchronise")                           \
  X(UseAfterAllocAsync, "17a", "a use is ordered after cudaMallocAsync")                  \
  X(UseBeforeFreeAsync, "17b", "a use is ordered before cudaFreeAsync")                   \
  X(PoolReuseNoEdge, "17c", "the pool's reuse gives no user edge")                        \
  X(RecordStreamCovers, "18a", "a recorded stream covers its work queued at the free")    \
  X(OwnerRecordNoop, "18b", "recording the owner does nothing")                           \
  X(JudgedAtFree, "19a", "a lifetime is judged at the free")                              \
  X(NextAllocation, "19b", "withdrawn if settled before the next allocation")             \
  X(OwnerFrontier, "19c", "work ordered before the owner's next operation is covered")    \
  X(SeenByAnyThread, "19d", "a completion that any thread saw covers the use")            \
  X(AllocUnordered, "19e", "first use not ordered after the owner's work: advice")        \
  X(FillIsWrite, "20", "an allocator's fill is a real write")                             \
  X(ByAddress, "22", "memory is keyed by address range, not by pointer")                  \
  X(GapsUntouched, "22g", "what lies between the rows of a copy is not touched")          \
  X(CollectiveJoins, "23", "a collective completes after the start of the ranks it receives from")

enum class Rule : uint8_t { SS_RULES(SS_RULE_NAME) kCount };

const RuleInfo& Info(Rule rule);

#ifdef STREAMSAN_BREAK_RULES
inline bool RuleOn(Rule rule) { return RuleStands(Info(rule)); }
#else
constexpr bool RuleOn(Rule) { return true; }
#endif

}  // namespace ss
