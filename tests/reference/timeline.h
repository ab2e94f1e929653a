// The happens-before graph of a program: one pass over its operations adds nodes and edges, one
// function a rule, and keeps what the judges ask about afterwards.
//
//   host thread:  ... ret(i-1) --> call(i) --> ret(i) --> call(i+1) ...
//   stream:       ... done(i-1) --> start(i) --> done(i) --> start(i+1) ...     call(i) -->
//   start(i)
//
// a happens before b iff done(a) reaches start(b).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/program/op.h"
#include "tests/reference/graph.h"
#include "tests/reference/lanes.h"
#include "tests/reference/storage.h"

namespace ss::reference {

struct OpNodes {
  Node call = 0, ret = 0;
  Node start = 0, done = 0;  // enqueued operations and CPU accesses
  Node batch = 0;            // copies: where a wait before all of the batch would join
  Node source_done = 0;      // copies staged from pageable memory: the host buffer was read
  LaneId lane = kNoLane;     // where it runs; kNoLane for calls that run nothing
  bool apart = false;        // a copy's reading, out of the order of its stream
  bool work = false;         // something that takes effect on memory, not an order alone
  bool joined_wait = false;  // a wait that found a record
  Node record = 0;           // joined_wait: the record's node
  std::vector<Piece> pieces;
};

// A host thread came to know that `node` is over (rules 6, 9, 16).
struct Acquisition {
  size_t op = 0;
  Node node = 0;
  bool incidental = false;
};

class Timeline {
 public:
  // `ops` are what the program does.
  Timeline(const Program& program, const std::vector<Op>& ops);

  const Program& program() const { return program_; }
  const Op& op(size_t i) const { return ops_[i]; }
  const OpNodes& nodes(size_t i) const { return nodes_[i]; }
  const LaneTable& lanes() const { return lanes_; }
  const Storage& storage() const { return storage_; }
  const std::vector<Acquisition>& acquisitions() const { return acquisitions_; }
  const std::vector<size_t>& unrecorded() const { return unrecorded_; }
  const std::vector<std::pair<size_t, TenantId>>& owner_records() const { return owner_records_; }
  const std::set<size_t>& never() const { return never_; }  // waits that no signal can release
  // The order through signals was found; a program in which it goes round in circles has none.
  bool settled() const { return settled_; }
  Graph& graph() { return graph_; }
  // How often each rule made a difference to the graph: what a random program exercised.
  const std::map<std::string, int>& exercised() const { return exercised_; }
  // The lane's name that a call of `host` means by the stream.
  std::string StreamName(StreamId stream, HostId host) {
    return lanes_[lanes_.StreamLane(stream, host)].name;
  }

 private:
  void AddOp(size_t i);
  void Dispatch(size_t i);
  // timeline_host.cc
  void TakeHandover(size_t i);
  std::vector<uint64_t> UsedObjects(size_t i);
  void HostSync(size_t i);
  void HostAcquires(size_t i, Node node, bool incidental);
  void Handoff(size_t i);
  void HostAccess(size_t i);
  // timeline_stream.cc
  void Enqueue(size_t i, bool work);
  void CutAccesses(size_t i);
  std::vector<Access> RowsOf(const Access& access) const;
  void NoteEnqueue(size_t i, bool implicit);
  Nodes StreamOrder(size_t i);
  void EnterBatch(size_t i);
  Node CallOf(size_t i) const;
  bool IsRest(size_t i) const;  // the copy whose source the operation before it reads
  void AppendToStream(size_t i);
  void SetRecord(size_t i, Node when);
  void Record(size_t i);
  void RecordContext(size_t i);
  void Wait(size_t i);
  // timeline_cross.cc
  void Cross(size_t i);
  void MeetRanks();
  void SettleCross();
  struct Gain {
    Nodes real, incidental;
    bool operator==(const Gain&) const = default;
  };
  Gain Released(size_t await);
  bool Passes(size_t await, uint64_t value) const;
  bool Earlier(size_t a, size_t b) { return starts_.at(b).Has(nodes_[a].done); }
  void FindStarts();
  // timeline_copy.cc
  void ReadApart(size_t i);
  void Copy(size_t i);
  void Memset(size_t i);
  // timeline_memory.cc
  void Allocate(size_t i);
  void Free(size_t i);
  void RecordStream(size_t i);

  void Note(const std::string& rule) { ++exercised_[rule]; }
  LaneId StreamLane(size_t i) { return lanes_.StreamLane(op(i).stream, op(i).host); }

  const Program& program_;  // names and accesses
  const std::vector<Op>& ops_;
  Graph graph_;
  LaneTable lanes_;
  Storage storage_;
  std::vector<OpNodes> nodes_;
  std::map<uint32_t, Node> last_record_;  // event -> when its latest record fires
  std::map<LaneId, size_t> last_queued_;  // stream lane -> its latest operation
  struct Batch {
    Node entry = 0, call = 0;
    Nodes handed;  // what other threads handed over with the buffers of its further copies
  };
  std::map<LaneId, Batch> batch_;   // stream lane -> its last batch of copies
  std::map<size_t, Nodes> behind_;  // programmatic launch -> end of the kernel that it was behind
  std::map<uint64_t, std::set<HostId>> users_;  // stream, event or buffer -> host threads
  std::vector<Acquisition> acquisitions_;
  std::vector<size_t> unrecorded_;
  std::vector<std::pair<size_t, TenantId>> owner_records_;
  std::vector<size_t> cross_;         // signals, waits for them, collectives
  std::map<size_t, NodeSet> starts_;  // of signals and waits: what they start after
  std::set<size_t> never_;
  bool behind_itself_ = false;  // a wait's only signals come after it, on another stream
  bool settled_ = true;
  std::map<std::string, int> exercised_;
};

}  // namespace ss::reference
