// From trace records of one process to the neutral operations of src/program/op.h, one by one: the
// program is never held in memory. Records come in order of seq_before (src/trace/merge.h).
//
// What is decided here is who is who: handles become lives (a destroyed handle that comes back is
// another stream), addresses become tenancies, launch arguments become accesses as far as something
// says what the kernel does with them. What may happen before what is not decided here.
//
// An operation comes out a little later than its record goes in: it waits until every call that
// overlapped it has been seen, so that order which the record numbers do not determine is flagged
// (kAmbiguousOrder) and not guessed. Nothing is dropped without being counted in coverage().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"
#include "src/base/strings.h"
#include "src/import/doing.h"
#include "src/import/tables.h"
#include "src/program/collectives.h"
#include "src/program/finding.h"
#include "src/program/op.h"
#include "src/program/shared.h"
#include "src/trace/record.h"

namespace ss {

namespace kernels {
class Registry;
struct KernelEntry;
}  // namespace kernels

struct ImportSink {
  virtual ~ImportSink() = default;
  // Before an operation: the number (seq_before) of the record that it comes from, and what time it
  // was then at least (0: before the process shared anything, the time is not told).
  virtual void OnRecord(uint64_t number, uint64_t ns) { (void)number, (void)ns; }
  // `op.access_begin` is 0: the accesses that travel with the op are all of `accesses`, which is
  // valid during the call only.
  virtual void OnOp(const Op& op, std::span<const Access> accesses) = 0;
};

struct ImportOptions {
  uint32_t rank =
      0;  // goes into bits 48-62 of every address, into kHostBegin, kStreamCreate and kAlloc
  // Operations that may wait for overlapping calls. Beyond it the oldest comes out unjudged, and is
  // counted.
  size_t max_held = size_t{1} << 16;
  // What the kernels do, from their machine code; has been fed the same records, perhaps further.
  // Null: only what the program says of its kernels is known.
  const kernels::Registry* kernels = nullptr;
};

class Importer {
 public:
  // What operations name goes into `names`, its strings and shapes. It must outlive the importer.
  explicit Importer(Program& names, ImportOptions options = {});
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  void Feed(const trace::Record& record, ImportSink& sink);
  // The kernel whose summary should be there before the record is fed; null: none. A launch that is
  // fed without it is unresolved.
  const kernels::KernelEntry* WaitsFor(const trace::Record& record) const;
  // No record with seq_before < `seq` will come any more: lets waiting operations out. For a
  // program that goes on running and calls nothing.
  void Advance(uint64_t seq, ImportSink& sink);
  // The end of the trace: everything that waits comes out.
  void Finish(ImportSink& sink);

  // What has been seen so far; what the reader knows (a cut file) is for the caller to add.
  Coverage coverage() const;

  const ProcessInfo& process() const;
  const StackTable& stacks() const;
  // Further ids that operations have: a recorded stack with what the framework said on top.
  const std::vector<DescribedStack>& described_stacks() const;
  const std::vector<Image>& images() const;  // mapped executables, in order of their records
  // What was asked of NCCL so far, what has not returned included; `index` and `after` of its
  // operations are for the analysis to fill in.
  RankCalls collectives() const;
  // What it has given away and opened so far.
  const std::vector<SharedThing>& shared() const;
  // What signals and waits call the values in memory, by their addresses.
  const std::unordered_map<uint64_t, uint32_t>& flags() const;
  // Calls per hooked function, from the trace's own counters; empty where it has none (killed
  // process).
  std::vector<std::pair<std::string, uint64_t>> call_counts() const;

  // The last name that the stream or thread had; "" for an id that was never given out.
  const std::string& StreamName(StreamId stream) const;
  const std::string& HostName(HostId host) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Everything at once, for tests and small traces. `next` gives the next record, false at the end.
struct ImportedProgram {
  Program program;  // recorded = true
  Coverage coverage;
  ProcessInfo process;
};
using NextRecord = std::function<Result<bool>(trace::Record& record)>;
Result<ImportedProgram> ImportProgram(const NextRecord& next, ImportOptions options = {});

}  // namespace ss
