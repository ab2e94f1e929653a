// Everything that the importer could not use as it is, by reason. One row each: the text of the
// coverage note, and whether it means that the analysis did not see all (`complete` = false).
#pragma once

#include <array>
#include <cstdint>

#include "src/program/finding.h"

namespace ss {

//  X(name, spoils completeness, text before the number)
// clang-format off
#define SS_IMPORT_COUNTS(X) \
  X(kFailedCalls, false, "calls failed and had no effect") \
  X(kUnknownRecords, true, "records of kinds that this version does not know") \
  X(kUnorderedRecords, true, \
    "calls came too late to be put in order, and are ambiguous") \
  X(kUnheldOps, true, "operations were not checked against all calls that overlap them") \
  X(kLateContexts, true, "contexts were first seen in use, not when they were made") \
  X(kLateStreams, true, "streams were first seen in use, and taken to be blocking streams") \
  X(kLateEvents, true, "events were first seen in use, not when they were made") \
  X(kUnknownDestroys, true, "streams, events or contexts were destroyed that were never seen") \
  X(kUnknownFrees, true, "frees of memory whose allocation was not seen") \
  X(kUnknownRecordUses, true, "pool_record_use notes for blocks that are not allocated") \
  X(kMissedFrees, true, "allocations over memory whose free was not seen") \
  X(kSegmentFrees, true, "pool blocks were still allocated when the memory under them was freed") \
  X(kUnknownCopyAddresses, true, "copies or memsets touched memory of unknown kind") \
  X(kUnkeptShapes, true, "rows with gaps of more forms than are told apart: taken without gaps") \
  X(kBadRanges, true, "address ranges beyond 48 bits are left out") \
  X(kUnnamedKernels, false, "launches came before their kernel's name") \
  X(kDeclaredOutside, true, "declared kernel arguments pointed to memory that is not known") \
  X(kAssumedPdlWaits, false, \
    "programmatic launches are assumed to begin with a grid-dependency wait") \
  X(kEarlyPdlAccesses, true, \
    "programmatic launches in graphs or with annotations touch memory before their " \
    "grid-dependency wait, and are judged as if they did not") \
  X(kArgumentsOutside, true, \
    "kernel arguments that are followed pointed to memory that is not known") \
  X(kTakenAsPointers, true, \
    "arguments that may be a pointer or a list of pointers were taken to be a pointer") \
  X(kBySchema, false, "launches whose accesses are those of their operator's schema") \
  X(kModuleVariables, false, "accesses to variables of a module, which are not checked") \
  X(kUnusedNotes, true, \
    "access or fill notes were followed by no operation of their thread and stream") \
  X(kOrphanHostAccesses, true, "accesses inside host functions that were not seen") \
  X(kLateNames, false, "names for memory that is not allocated were taken as host memory") \
  X(kUnknownTexts, false, "names were used before they were defined") \
  X(kNcclUnseen, true, \
    "NCCL kernels launched outside of the NCCL calls that were seen (NCCL linked statically that is " \
    "older than 2.23 or has another NCCL_PROFILER_PLUGIN, or functions this version does not know): " \
    "collectives not seen") \
  X(kNcclNoStream, true, \
    "operations that NCCL told of without their launch, as when a graph is replayed: left out") \
  X(kNcclOwnLaunches, false, "launches made by NCCL for the collectives that were seen") \
  X(kNcclNonblocking, true, \
    "NCCL calls returned before their work was queued: it is taken to be queued at the call") \
  X(kNcclUnreturned, true, "NCCL calls had not returned when the trace ended, and are left out") \
  X(kNcclUnknownExtents, true, \
    "NCCL operations of unknown datatype, kind or communicator: their buffers are left out") \
  X(kAliasedMappings, true, \
    "memory was mapped to a second range while the first was there: they are taken to be apart") \
  X(kUnknownGraphs, true, "uses of graphs or nodes whose making was not seen") \
  X(kFoldedThreads, true, "host threads share one lane, as more were alive than can be told apart")
// clang-format on

enum class Count : uint8_t {
#define SS_COUNT_ENUM(name, spoils, text) name,
  SS_IMPORT_COUNTS(SS_COUNT_ENUM)
#undef SS_COUNT_ENUM
      kCountEnd
};

class Counts {
 public:
  void Add(Count count, uint64_t n = 1) { values_[static_cast<size_t>(count)] += n; }
  uint64_t Get(Count count) const { return values_[static_cast<size_t>(count)]; }
  // Appends "text: N" for whatever is not zero and clears `complete` where that is what it means.
  void Report(Coverage& coverage) const;

 private:
  std::array<uint64_t, static_cast<size_t>(Count::kCountEnd)> values_{};
};

}  // namespace ss
