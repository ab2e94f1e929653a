// Who gets the records of a watched process, and the sinks that there are. All calls come from the
// collector's drain thread; while a sink works, rings fill and producers block (see OnFull).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/trace/crumbs.h"
#include "src/trace/merge.h"
#include "src/trace/writer.h"

namespace ss::trace {

struct ProcessInfo {
  uint32_t pid = 0;          // as the collector sees it
  int64_t rank = -1;         // -1 = not stated
  uint32_t exec_number = 0;  // how many processes of the same rank (or pid) were there before

  std::string Name() const;  // "<rank or pid>.<exec number>"
};

struct ProcessEnding {
  bool still_alive = false;      // the collector stops before the process
  uint64_t dropped_at_end = 0;   // records that no Dropped record of a thread told of
  uint64_t malformed_bytes = 0;  // in rings that had to be given up
  uint32_t broken_rings = 0;
};

class ProcessSink {
 public:
  virtual ~ProcessSink() = default;
  // Whole records of one thread, in the order in which it wrote them.
  virtual void Records(uint32_t thread, ByteSpan records) = 0;
  // Everything with seq_before < watermark has been handed over.
  virtual void Advance(uint64_t watermark) { (void)watermark; }
  // About every 200 ms.
  virtual void Tick() {}
  // Before any record, of a process that leaves breadcrumbs.
  virtual void Crumbs(std::shared_ptr<const CrumbTable> crumbs) { (void)crumbs; }
  virtual void End(const ProcessEnding& ending) = 0;
};

// Into a trace; the writer (for its stats and, in memory, its bytes) can be shared with whoever
// reads it after End().
class TraceSink : public ProcessSink {
 public:
  explicit TraceSink(std::shared_ptr<TraceWriter> writer) : writer_(std::move(writer)) {}
  void Records(uint32_t thread, ByteSpan records) override { writer_->Add(thread, records); }
  void Tick() override { writer_->Flush(); }
  void End(const ProcessEnding&) override { (void)writer_->Close(); }

 private:
  std::shared_ptr<TraceWriter> writer_;
};

// Decoded and in order, as they arrive. A thread that sits in one call holds everything behind it
// back; after `patience` the others go on without it, and its record comes out late and counted.
class LiveSink : public ProcessSink {
 public:
  using OnRecord = std::function<void(const Record&)>;
  using OnEnd = std::function<void(const ProcessEnding&, uint64_t late, uint64_t malformed)>;
  LiveSink(OnRecord on_record, OnEnd on_end,
           std::chrono::milliseconds patience = std::chrono::seconds(10));

  void Records(uint32_t thread, ByteSpan records) override;
  void Advance(uint64_t watermark) override;
  void End(const ProcessEnding& ending) override;

 private:
  void PopAll();

  OnRecord on_record_;
  OnEnd on_end_;
  std::chrono::milliseconds patience_;
  std::chrono::steady_clock::time_point moved_;
  MergeQueue queue_;
  uint64_t highest_seen_ = 0;
  uint64_t malformed_ = 0;
};

// Where `-o target` puts this process: target/<name>.sst when target is a folder, otherwise target
// itself for the first process and target with ".<name>" before its extension for the others.
std::string TracePath(const std::string& target, bool is_folder, bool first,
                      const ProcessInfo& info);

}  // namespace ss::trace
