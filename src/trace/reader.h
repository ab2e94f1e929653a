// Reads a trace in the order of seq_before, whatever state it is in.
//
// A first pass indexes the block headers; then blocks are unpacked as the merge reaches their first
// number, so memory follows how much the threads overlap and not the length of the trace. Nothing
// that is wrong inside ends the reading: it is skipped, counted in stats(), and located in notes().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/trace/format.h"
#include "src/trace/merge.h"
#include "src/trace/trace_file.h"

namespace ss::trace {

struct ReadStats {
  uint64_t blocks = 0;
  uint64_t records = 0;            // given out so far
  uint64_t damaged_blocks = 0;     // their sum did not match
  uint64_t damaged_records = 0;    // how many those held, by their headers
  uint64_t damaged_bytes = 0;      // belong to no block
  uint64_t cut_bytes = 0;          // behind the last whole block
  uint64_t unknown_records = 0;    // of an id this version does not know
  uint64_t malformed_records = 0;  // whole by their length, and not inside
  uint64_t lost = 0;               // by the writer: could not be written
  uint64_t evicted = 0;            // by the flight recorder
  uint64_t evicted_to_seq = 0;
  uint64_t late = 0;     // given out after one with a higher number
  bool has_end = false;  // the writer finished

  bool Complete() const {
    return has_end && damaged_blocks + damaged_bytes + cut_bytes + unknown_records +
                              malformed_records + lost + evicted + late ==
                          0;
  }
};

class TraceReader {
 public:
  static Result<TraceReader> Open(const std::string& path);
  // `bytes` are copied; `name` stands for the path in messages.
  static Result<TraceReader> FromMemory(std::string_view bytes, const std::string& name = "memory");
  static Result<TraceReader> FromFile(TraceFile file, size_t max_waiting = MergeQueue::kDefaultMax);

  // The next record, nothing at the end, an error only when the file cannot be read any more.
  Result<std::optional<Record>> Next();

  const FileHeader& header() const { return header_; }
  const std::string& path() const { return file_.path(); }
  const ReadStats& stats() const { return stats_; }
  // One sentence for each thing that is missing or wrong, with its place. Complete after the last
  // Next().
  std::vector<std::string> notes() const;

 private:
  struct BlockPlace {
    uint64_t offset;  // of the stored bytes
    BlockHeader header;
  };

  TraceReader(TraceFile file, FileHeader header, size_t max_waiting)
      : file_(std::move(file)), header_(std::move(header)), queue_(max_waiting) {}
  Result<void> Index();
  Result<uint64_t> FindBlock(uint64_t from) const;
  Result<void> TakeNote(const BlockPlace& place);
  Result<std::string> Unpack(const BlockPlace& place, bool* damaged);
  Result<void> LoadNextBlock();
  void Damage(const std::string& what);

  TraceFile file_;
  FileHeader header_;
  std::vector<BlockPlace> blocks_;  // by min_seq, then place
  size_t next_block_ = 0;
  MergeQueue queue_;
  ReadStats stats_;
  std::vector<std::string> damage_;  // the first kMaxLocated
};

}  // namespace ss::trace
