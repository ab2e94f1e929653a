// What the patches of `streamsan pipeline watch` write, and the file that carries it. Read by a
// program for the GPU (src/sanitizer/patches.cu), by the library inside the watched program
// (src/sanitizer) and by the analysis (src/pipeline/log.h): plain C++ without a library.
//
// A file is a FileHeader and then chunks: a ChunkHeader, its bytes, padding to eight.
#pragma once

#include <cstdint>

namespace ss::pipeline {

enum class RecordKind : uint8_t {
  kNone = 0,
  // mbarrier objects; data = the count of an arrival
  kInit = 1,
  kArrive = 2,
  kArriveDrop = 3,
  kArriveNoComplete = 4,
  kArriveDropNoComplete = 5,
  kInvalidate = 7,
  kTry = 8,  // after it looked: result 1 = it passed. Equal failures in a row: the first only
  kAsyncArrive = 9,  // cp.async.mbarrier.arrive: comes when the copies are done
  kBulkCopy = 10,    // into shared memory: its bytes complete on the barrier. data as the API says
  kAsyncStore = 11,  // st.async, red.async: the same; data = bytes
  // named barriers: barrier = index, data = threads (0 = all)
  kBarEnter = 16,
  kBarLeave = 17,
  // the cluster's barrier
  kClusterArrive = 20,
  kClusterWait = 21,
  kExit = 24,  // the warp left the kernel
};

// Two halves of sixteen bytes, each stored at once and each with a tag: a reader that runs beside
// the kernel takes a record when both tags are there.
struct alignas(16) LogRecord {
  uint64_t place;  // pc in the low 48 bits, kind in the next 8, tag in the top 8
  uint64_t word;   // of the mbarrier: before an arrival, after a look. 0 = not read; kParityOnly
  uint32_t
      barrier;     // shared memory address (rank in the cluster << 24), or a named barrier's index
  uint32_t block;  // x + y * gridDim.x + z * gridDim.x * gridDim.y
  uint16_t launch;
  uint16_t data;
  uint8_t warp;
  uint8_t lanes;  // how many lanes did the same
  uint8_t result;
  uint8_t tag;

#if !defined(__CUDA_ARCH__)
  uint64_t Pc() const { return place & 0xffff'ffff'ffffULL; }
  RecordKind Kind() const { return static_cast<RecordKind>(place >> 48 & 0xff); }
  bool Complete() const { return place >> 56 != 0 && tag != 0; }
#endif
};
static_assert(sizeof(LogRecord) == 32);

// A warp that failed to pass and has not passed since. Kept for every block, watched or not.
using StuckWarp = LogRecord;  // place 0 = it does not wait

// The mbarrier object of compute capability 9.0, as init, arrive and mbarrier.pending_count have
// it: bit 63 the parity of the phase, 20 bits from 43 on what is missing in it (negated), 20 bits
// from 1 on what a phase takes (negated), between them the bytes that are outstanding.
constexpr uint64_t kWordCounts = 0x100000;
// Set where only the parity is known: a bit that the object itself has as 0.
constexpr uint64_t kParityOnly = 1;
#if defined(__CUDACC__)
#define SS_BOTH __host__ __device__
#else
#define SS_BOTH
#endif
SS_BOTH constexpr uint32_t WordParity(uint64_t word) { return static_cast<uint32_t>(word >> 63); }
SS_BOTH constexpr bool WordHasCounts(uint64_t word) { return word != 0 && !(word & kParityOnly); }
SS_BOTH constexpr uint64_t MakeParity(uint32_t parity) {
  return uint64_t{parity & 1} << 63 | kParityOnly;
}
SS_BOTH constexpr uint32_t WordPending(uint64_t word) {
  return static_cast<uint32_t>(-(word >> 43) & (kWordCounts - 1));
}
SS_BOTH constexpr uint32_t WordExpected(uint64_t word) {
  return static_cast<uint32_t>(-(word >> 1) & (kWordCounts - 1));
}
SS_BOTH constexpr bool WordAwaitsBytes(uint64_t word) { return (word >> 21 & 0x3fffff) != 0; }
SS_BOTH constexpr uint64_t MakeWord(uint32_t expected, uint32_t pending, uint32_t parity) {
  return uint64_t{parity & 1} << 63 | ((kWordCounts - pending) & (kWordCounts - 1)) << 43 |
         ((kWordCounts - expected) & (kWordCounts - 1)) << 1;
}
#undef SS_BOTH

constexpr uint32_t kStuckBlocks = 4096;  // block number modulo this
constexpr uint32_t kMaxWarps = 32;

constexpr char kLogMagic[9] = "SSPIPLOG";
constexpr uint32_t kLogVersion = 2;

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t record_bytes;
  uint64_t pid;
  uint64_t reserved[5];
};
static_assert(sizeof(FileHeader) == 64);

enum class ChunkKind : uint32_t {
  kLaunch = 1,   // LaunchChunk, then the kernel's name
  kRecords = 2,  // LogRecord[]
  kStuck = 3,    // StuckWarp[]: who waits when the log ends
  kEnd = 4,      // EndChunk
  kModule = 5,   // u64 module, then its cubin
};

struct ChunkHeader {
  uint32_t kind;
  uint32_t bytes;
};

struct LaunchChunk {
  uint32_t launch;
  uint32_t blocks_watched;  // at most; whole clusters spread over the grid. 0 = none
  uint32_t grid[3], block[3], cluster[3];
  uint32_t pad;
  uint64_t pc, code_bytes;  // of the function; 0 = unknown
  uint64_t module;
};

enum class LogEnd : uint32_t { kExit = 0, kHang = 1 };

struct EndChunk {
  LogEnd how;
  uint32_t pad;
  uint64_t records, dropped;     // dropped: at least so many found no room
  uint64_t launches, unwatched;  // unwatched: beyond the first ones of each kernel
  uint64_t graphs;               // launches of graphs: their kernels are not watched
  uint64_t quiet_ms;             // kHang: how long nothing had moved
};

}  // namespace ss::pipeline
