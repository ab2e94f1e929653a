// What the detectors produce and the printers print: plain data, no logic (DESIGN: "A finding is
// plain data").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/program/op.h"
#include "src/trace/trial.h"

namespace ss {

enum class Confidence : uint8_t { kPossible, kLikely, kCertain };
enum class Severity : uint8_t { kWarning, kError };

// One operation of a finding, with everything that a printer needs already resolved.
struct Site {
  OpId op = 0;       // 0 = no operation (e.g. a lifetime that nothing freed yet)
  size_t index = 0;  // position in the op sequence of the analysis run, for edits
  OpKind kind{};
  std::string name;   // kernel or operation name: "unpermute_bwd", "free", "copy"
  std::string label;  // litmus label, "" = none
  std::string lane;   // "compute", "main", "GRAPH/STREAM"
  std::string host;   // issuing host thread's name
  std::vector<std::string> lane_aliases;  // further names an expect line may use
  StreamId stream = 0;                    // 0 = a host thread's own access
  StreamId launch_stream = 0;  // inside a graph: the stream that launched it, lane_aliases =
                               // {captured stream, graph, launching stream}
  HostId host_id = 0;
  uint32_t rank = 0;
  bool among_ranks = false;     // of several: the lane is named with the rank
  std::string access;           // "read", "write", "read+write", "atomic", "free", "alloc"
  uint64_t begin = 0, end = 0;  // bytes touched, relative to the buffer
  Shape rows;  // where it leaves gaps: what it touches from `begin` on; else without levels
  Evidence direction = Evidence::kExact;
  Evidence extent = Evidence::kExact;
  StackId stack = 0;
  uint32_t line = 0;  // litmus line
};

struct BufferRef {
  BufferId id = 0;
  std::string name;
  std::vector<std::string> aliases;  // older tenants of the storage, for expect lines
  uint64_t bytes = 0;
  uint64_t begin = 0, end = 0;  // the bytes in conflict, relative to the buffer
  std::string owner;            // owner lane, "" = none
  MemoryKind memory{};
  StreamId owner_stream = 0;
  HostId owner_host = 0;  // whose stream, where that is a per-thread one
  StackId alloc_stack = 0;
  uint32_t alloc_line = 0;
};

enum class FixKind : uint8_t {
  kRecordStream,       // consumer = stream name, buffer
  kReallocBeforeWait,  // buffer
  kWait,               // consumer waits for producer
  kHostSync,           // producer = lane to synchronise
  kPdlWait,            // consumer = operation name
  kHandoff,            // producer = H1, consumer = H2
  kFreeLater,          // buffer: freed behind its last use, which producer makes
  kSourceOrder,        // consumer = the copy that reads its source in another order
  kSplitBatch,         // consumer = the copy that begins a batch of its own
};

struct Fix {
  FixKind kind{};
  std::string consumer;
  std::string producer;
  std::string buffer;
  std::string text;       // one sentence for people
  bool verified = false;  // put into the program and judged again: gone, nothing new
  uint64_t alike = 0;     // further instances that it also removes
  std::string cost;       // "no wait added", "2 operations more on the critical path"; "" = unknown
  // Operations on the critical path of the program as it is, and with the fix; 0 = not worked out.
  uint64_t path_before = 0, path_after = 0;
};

// A position pair of one instance; the first one is spelled out in the finding.
struct Instance {
  size_t first_index = 0;
  size_t second_index = 0;
};

struct Finding {
  std::string
      source;  // the input that it comes from, where a report covers several; "" = Report.program
  std::string code;  // LITMUS.md
  Severity severity = Severity::kError;
  Confidence confidence = Confidence::kCertain;
  uint64_t count = 1;
  bool struck = false;
  bool absorbed =
      false;  // settled by an earlier finding's edge: never reported, an expect line may name it
  bool unsettled = false;      // the order through signals or ranks was not followed to its end
  bool handover_only = false;  // ordered only by a hand-over between host threads (SEMANTICS 3)
  BufferRef buffer;
  Site first, second;                 // lifetime: the uncovered use, the free (or the allocation)
  Site reuse;                         // lifetime: who got the storage (op = 0: nobody yet)
  Site producer;                      // who wrote the bytes before all that (op = 0: not known)
  std::string edge_from, edge_to;     // the missing edge, as lanes
  std::string root_cause;             // one sentence or two
  std::vector<std::string> evidence;  // waits that were there and why they do not cover it
  std::vector<Site> evidence_sites;   // in step: the wait that a line is about (op = 0: none)
  std::vector<Fix> fixes;
  std::string change;  // what to change, where only the program can: in words, not tried
  std::vector<Instance> instances;
  // A window of the two lanes around the finding, for the timeline: operations in order.
  std::vector<Site> timeline;
};

struct Advice {
  std::string source;  // as in Finding
  std::string code;
  std::string subject;               // as reports name it
  std::vector<std::string> aliases;  // further names an expect line may use
  std::string text;
  uint64_t count = 1;
  Site site;
};

struct Coverage {
  bool complete = true;
  uint64_t dropped = 0;  // records lost
  bool late = false;     // attached after the program had begun to use the driver
  uint64_t calls = 0, calls_modelled = 0;
  uint64_t launches = 0, launches_resolved = 0;
  uint64_t muted_private = 0;  // hazards on library-private memory (SEMANTICS 21)
  struct Unmodelled {
    std::string name;
    uint64_t count = 0;
  };
  std::vector<Unmodelled> unmodelled;  // by name, most frequent first
  std::vector<std::string> notes;      // e.g. "trace ends at byte N of run.sst: cut off"
};

struct Stats {
  uint64_t operations = 0, accesses = 0, lanes = 0;
  double seconds = 0;
};

// How far a stream had come that breadcrumbs were left on. Operation 0 = there is none.
struct Trail {
  Site finished;        // the last one
  Site next;            // the first one that is not finished
  uint64_t behind = 0;  // so many more behind that
};

// What came of an attempt to make a finding strike.
struct Trial {
  std::string id;             // of the finding, "" = the trace does not say
  std::string first, second;  // the call that was held back and the one that should overtake it
  trace::TrialOutcome outcome{};
  double seconds = 0;  // for how long the first was held
  int64_t result = 0;  // CUresult of what the driver refused
};

struct Picture;  // picture.h

struct Report {
  std::string program;  // command line or file
  std::string title;
  int64_t pid = 0;
  std::vector<Finding> findings;
  std::vector<Advice> advice;
  // Of a recorded program that did not come to its end by itself: the last work of each stream, if
  // no thread has seen its end.
  std::vector<Site> running;
  std::vector<Trail> trails;  // of such a program, by `run --breadcrumbs`
  std::vector<Trial> trials;  // one a process that took part
  Coverage coverage;
  Stats stats;
  std::vector<std::shared_ptr<const Picture>> pictures;  // one an input, where they were asked for
};

const char* Name(Confidence confidence);
const char* Name(FixKind kind);  // litmus words: "wait", "record_stream", ...

}  // namespace ss
