// Writes the trace of one process: collects each thread's records into blocks, packs and appends
// them.
//
// With `max_bytes` it is a flight recorder: the file is rewritten without its oldest blocks each
// time it reaches 60% of the bound, down to 30%, so that both copies together stay below it (and
// later, the more of it is state that cannot go). (Rejected: a circular file, which ends in half a
// block whenever anything goes wrong; punched holes, which network file systems lack.) What the
// evicted blocks defined and later ones refer to is carried over, see CarriedState.
//
// A full disk is not the end: the error is kept for error(), records are counted as lost while
// nothing can be written, and the next block that fits is preceded by a note of the gap.
//
// Not thread-safe. Limits: 64 KiB blocks; one open block a thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/trace/carried_state.h"
#include "src/trace/format.h"
#include "src/trace/trace_file.h"

namespace ss::trace {

struct WriterOptions {
  uint64_t max_bytes = 0;  // 0 = unbounded; at least 1 MiB otherwise
};

class TraceWriter {
 public:
  static Result<std::unique_ptr<TraceWriter>> Create(const std::string& path,
                                                     const WriterOptions& options = {});
  static Result<std::unique_ptr<TraceWriter>> InMemory(const WriterOptions& options = {});

  // Whole records of one thread. What does not parse is counted in malformed_bytes.
  void Add(uint32_t thread, ByteSpan records);
  // Closes and writes the open blocks.
  void Flush();
  // Flushes and writes the end mark; the first error if there was any. Call once, last.
  Result<void> Close();

  struct Stats {
    uint64_t records = 0;  // given to Add
    uint64_t raw_bytes = 0;
    uint64_t lost = 0;     // could not be written
    uint64_t evicted = 0;  // written, and gone again for the bound
    uint64_t evicted_to_seq = 0;
    uint64_t malformed_bytes = 0;
  };
  const Stats& stats() const { return stats_; }
  const std::optional<Error>& error() const { return error_; }
  const TraceFile& file() const { return file_; }

 private:
  struct OpenBlock {
    BlockHeader header;
    std::string raw;
  };
  struct WrittenBlock {
    uint64_t offset;
    uint64_t bytes;
    BlockHeader header;
  };

  TraceWriter(TraceFile file, const WriterOptions& options);
  Result<void> Begin();
  void AddRecord(OpenBlock* block, const RawRecord& raw);
  void CloseBlock(OpenBlock* block);
  bool Write(const std::string& packed);
  void KeepToBound();
  void Compact(size_t evict);
  Result<void> Rewrite(size_t evict, TraceFile* fresh, std::vector<WrittenBlock>* index);
  Result<void> AbsorbBlock(const WrittenBlock& block);
  Result<void> WriteCarried(TraceFile* file);
  Result<void> CopyBlocks(size_t from, TraceFile* file, std::vector<WrittenBlock>* index);

  TraceFile file_;
  WriterOptions options_;
  std::map<uint32_t, OpenBlock> open_;
  std::vector<WrittenBlock> index_;  // only with a bound
  CarriedState carried_;
  Stats stats_;
  uint64_t lost_noted_ = 0;
  uint64_t last_seq_ = 0;
  uint64_t compact_at_ = 0;
  bool full_ = false;  // nothing more can go: what does not fit is lost
  std::optional<Error> error_;
};

}  // namespace ss::trace
