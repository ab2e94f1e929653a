// The recorded operations as a file, so that engines in other processes and languages get the same
// ones.
//
// Little endian: "SSOPS001", the number of operations (u64), of accesses (u64); the operations, 40
// bytes each; the accesses, 24 bytes each. Names stay behind: they are printed, never judged.
#pragma once

#include <cstdint>
#include <string>

#include "bench/workload.h"
#include "src/base/result.h"

namespace ss::bench {

struct FileOp {
  uint8_t kind;
  uint8_t access_count;
  uint16_t flags;
  uint16_t host;
  uint16_t stack;
  uint32_t stream;
  uint32_t object;
  uint32_t aux;
  uint32_t name;
  uint64_t value;
  uint64_t access_begin;
};
static_assert(sizeof(FileOp) == 40);

struct FileAccess {
  uint64_t begin;
  uint64_t end;
  uint8_t mode;
  uint8_t memory;
  uint8_t unused[6];
};
static_assert(sizeof(FileAccess) == 24);

// The first `count` operations of the workload.
Result<void> WriteOperations(const std::string& path, const WorkloadOptions& options,
                             uint64_t count);
// Fills `ops` and `accesses` of the program.
Result<void> ReadOperations(const std::string& path, Program* program);

}  // namespace ss::bench
