// The importer's insides: one On() a record type, grouped by what they are about (on_*.cc).
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/import/counts.h"
#include "src/import/doing.h"
#include "src/import/graphs.h"
#include "src/import/hold.h"
#include "src/import/importer.h"
#include "src/import/memory_map.h"
#include "src/import/nccl.h"
#include "src/import/objects.h"
#include "src/import/overlap.h"
#include "src/import/tables.h"
#include "src/kernels/registry.h"

namespace ss {

class Importer::State {
 public:
  State(Program& names, ImportOptions options);

  void Feed(const trace::Record& record, ImportSink& sink);
  void Advance(uint64_t seq, ImportSink& sink);
  void Finish(ImportSink& sink);
  Coverage MakeCoverage() const;
  const kernels::KernelEntry* WaitsFor(const trace::Record& record) const;
  RankCalls Collectives() const;

  StringTable& strings_;
  ShapeTable& shapes_;
  const ImportOptions options_;
  ProcessInfo process_;
  StackTable stacks_;
  Doings doings_;
  std::vector<Image> images_;
  TextTable texts_;
  std::map<uint64_t, uint64_t> call_counts_;  // by text id
  std::vector<StringId> stream_names_;        // by StreamId
  std::vector<StringId> host_names_;          // by HostId
  std::vector<SharedThing> shared_;
  const std::unordered_map<uint64_t, uint32_t>& flags() const { return flags_.all(); }

 private:
  // An access or fill note that waits for its thread's next operation on a stream.
  struct Note {
    uint64_t stream = 0;  // raw handle
    uint64_t address = 0, bytes = 0;
    uint8_t mode = 0;
    bool fill = false;
  };
  struct OperatorTensor {
    uint64_t begin = 0, end = 0;
    uint8_t mode = 0;      // AccessMode bits
    bool perhaps = false;  // or nothing at all
    bool gaps = false;     // it does not have every byte of its range
  };
  struct ThreadLife {
    HostId host = 0;
    uint64_t number = 0;  // in first-seen order; 0 is "main"
    StringId name = 0;
    std::vector<Note> notes;
    Doing doing;
    bool batch_begun = false;  // a copy of its last batch has been an operation
    std::vector<OperatorTensor> tensors;  // of the operator that it is in, in order of address
    bool tensors_complete = false;
  };
  struct Declared {
    uint64_t offset = 0;
    uint8_t mode = 0;
    uint64_t after_launches =
        0;  // how many there had been: tells the notes of an unloaded namesake
  };
  struct Function {
    trace::Function definition;
    StringId name = 0;
    uint64_t launches = 0;
    std::vector<Declared> declared;                    // few: searched linearly
    std::shared_ptr<const kernels::KernelEntry> code;  // null: there is no registry
  };
  struct HostFunctionRun {
    OpId op = 0;
    StreamId stream = 0;
  };
  // A host synchronisation that has not returned yet, as far as the records seen go.
  struct OpenSync {
    uint32_t thread = 0;
    uint64_t after = 0;
    HoldQueue::Ticket ticket = 0;
    Op op;  // as it was queued
    bool split = false;
  };
  struct Now {  // the record at hand
    uint32_t thread = 0;
    uint64_t before = 0, after = 0;
    bool unordered = false;
    ThreadLife* life = nullptr;
    ImportSink* sink = nullptr;
  };
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  struct Taken {  // notes that were meant for the operation at hand
    bool accesses = false, fill = false;
    Range fill_range;
  };

  // importer.cc: the order of things.
  void Handle(const trace::Record& record);
  bool Defer(const trace::Record& record);
  void RunPending(uint64_t seq);
  void EndSync(const OpenSync& sync);
  void SplitSyncs();
  void Split(OpenSync& sync);

  // emit.cc: making operations.
  Op& Emit(OpKind kind, uint64_t stack = 0);
  Op& EmitOn(OpKind kind, const StreamLife& stream, uint64_t stack);
  void BeginSync(Op& op);
  void CheckOverlap(Op& op, Touch touch);
  Touch Queues(const StreamLife& stream) const;
  Touch Looks(const StreamLife& stream) const;
  void AddPlugIns(Coverage* coverage) const;
  void AddAccess(Range range, uint8_t mode, MemoryKind memory, Evidence direction, Evidence extent,
                 ShapeId shape = 0);
  Range MakeRange(uint64_t address, uint64_t bytes);
  uint64_t Tag(uint64_t address) const { return address + (uint64_t{options_.rank} << 48); }
  bool Failed(int64_t result);
  StringId TextOf(uint64_t text_id);

  // on_process.cc
  void On(const trace::Unknown&);
  void On(const trace::Process&);
  void On(const trace::Thread&);
  void On(const trace::ThreadEnd&);
  void On(const trace::Text&);
  void On(const trace::Stack&);
  void On(const trace::Module&);
  void On(const trace::Dropped&);
  void On(const trace::Unmodelled&);
  void On(const trace::ProcessEnd&);
  void On(const trace::Fork&);
  void On(const trace::Counters&);
  void On(const trace::Trial& record) { process_.trials.push_back(record); }
  ThreadLife& ThreadOf(uint32_t thread, const std::string& name = {});
  HostId NewHost();
  StringId FreeThreadName(const std::string& wanted);
  void NameThread(ThreadLife& life, StringId name);

  // on_objects.cc
  void On(const trace::ContextCreate&);
  void On(const trace::ContextDestroy&);
  void On(const trace::StreamCreate&);
  void On(const trace::StreamDestroy&);
  void On(const trace::EventCreate&);
  void On(const trace::EventDestroy&);
  void On(const trace::EventRecord&);
  void On(const trace::StreamWaitEvent&);
  void On(const trace::ContextRecord&);
  void On(const trace::ContextWait&);
  void On(const trace::StreamSync&);
  void On(const trace::EventSync&);
  void On(const trace::ContextSync&);
  void On(const trace::StreamQuery&);
  void On(const trace::EventQuery&);
  ContextLife ContextOf(uint64_t handle);
  StreamLife& StreamOf(uint64_t handle, uint64_t context);
  StreamLife& WholeOf(uint64_t context);
  template <typename Body>
  void RecordOn(const StreamLife& stream, const Body& record);
  template <typename Body>
  void WaitOn(const StreamLife& stream, const Body& record);
  StreamLife& MakeStream(uint64_t handle, uint64_t context, StreamType type, uint64_t stack);
  void EmitStream(const StreamLife& stream, uint64_t stack);
  void EmitDestroy(StreamId stream);
  EventId EventOf(uint64_t handle, uint64_t context);
  void MarkForeign(Op& op);

  // on_work.cc
  void On(const trace::Function&);
  void On(const trace::Launch&);
  void On(const trace::Copy&);
  void On(const trace::Memset&);
  void On(const trace::HostFunction&);
  void On(const trace::StreamMemOp&);
  void ResetFlags(const StreamLife& stream, Range range, uint64_t stack);
  bool ScanWords(const Function& function, const trace::WORDS& words, Op& op);
  bool FindAccesses(const Function& function, const trace::WORDS& words, Op& op);
  bool PointsNowhere(const trace::WORDS& words);
  uint32_t PdlFlags(const Function& function);
  static bool LetsNobodyStartEarly(const Function& function);
  static bool TouchesBeforeItsWait(const Function& function);
  void SplitAtGridWait(Op& op, const Touch& touch);
  std::vector<Access> TakeLateParts();
  void AddEarlyPart(kernels::Access access);
  Taken TakeNotes(Op& op, uint64_t raw_stream);
  void DropNotes(uint64_t raw_stream);
  // One side of a copy, or what a memset writes. An extent that is not exact may go too far.
  struct CopySide {
    Range range;
    ShapeId shape = 0;
    Evidence extent = Evidence::kExact;
  };
  CopySide SideOf(uint64_t address, const std::optional<Shape>& shape, uint64_t bytes);
  void AddCopySide(const CopySide& side, uint8_t mode);
  uint32_t BatchFlags(const trace::Copy& record);
  void TakeCopyNotes(Op& op, uint64_t raw_stream);
  MemoryKind KindAt(uint64_t address);
  MemoryKind UnknownKind(uint64_t address) const;
  bool IsDeviceFlag(Range range) const;

  // on_code.cc: launches of kernels whose machine code was read.
  struct Words;
  bool UseSummary(const Function& function, const trace::WORDS& words, Op& op);
  bool UseSchema(const Function& function, bool resolved);
  const OperatorTensor* TensorAt(uint64_t address) const;
  std::string UseAccess(const kernels::Access& access, const kernels::KernelSummary& summary,
                        const Words& words, Op& op);
  bool IsGather(const kernels::Access& access, const kernels::KernelSummary& summary,
                const Words& words);
  static bool MayBeList(const kernels::Access& access, const kernels::KernelSummary& summary);
  bool IsLive(const Words& words, int32_t offset);
  void UseWord(uint64_t address, const kernels::Access& access, Evidence direction);
  std::string UseTensorMap(const kernels::Access& access, const Words& words);
  void Unresolved(const Function& function, const std::string& reason);
  void ReportUnresolved(Coverage& coverage) const;
  void On(const trace::Image&);
  void On(const trace::ImageBytes&);
  void On(const trace::ImageLoad&);
  void On(const trace::TensorMap&);

  // on_graphs.cc, tell_graph.cc. A record of work that belongs to a graph's node goes the usual way
  // with `building_` on: what it makes is collected, and becomes the node's.
  template <typename Body>
  void InGraph(const Body& body);
  void InGraph(const trace::EventRecord& record);
  void InGraph(const trace::StreamWaitEvent& record);
  void InGraph(const trace::GraphLaunch& record) { On(record); }
  void CaptureRecord(const trace::EventRecord& record);
  void CaptureWait(const trace::StreamWaitEvent& record);
  void BeginBuilding();
  std::vector<NodeOp> EndBuilding();
  void PushAgain(const NodeOp& one);
  OpenCapture* CaptureOf(StreamId stream);
  GraphBody* BodyOf(uint64_t graph);
  GraphNode* NodeFor(uint64_t stream, uint64_t context, uint64_t node, uint64_t exec);
  GraphNode& NodeByHand(uint64_t node);
  GraphNode& AddNode(uint64_t graph, GraphNode node);
  GraphNode& AddCaptured(OpenCapture& capture, StreamId stream, uint64_t handle);
  void AddBookkeeping(OpenCapture& capture, StreamId stream);
  void HostPoolAlloc(Range range, const trace::NotePoolAlloc& record);
  bool GraphPoolAlloc(Range range, const StreamLife& stream, uint32_t pool);
  std::shared_ptr<const GraphBody> CopyOf(uint64_t graph);
  void EndExecutable(std::unordered_map<uint64_t, ExecutableGraph>::iterator it);
  StreamId MakeBranch(ExecutableGraph& exec, size_t number, const StreamLife& launcher);
  void TellGraph(ExecutableGraph& exec, const StreamLife& launcher);
  void TellGraphBlock(Op& alloc);
  void ReviveBlocks(const GraphBody& body);
  bool IsKernel(const GraphNode& node) const;
  bool GridWait(const GraphNode& node);
  void On(const trace::CaptureBegin&);
  void On(const trace::CaptureEnd&);
  void On(const trace::CaptureDependencies&);
  void On(const trace::GraphCreate&);
  void On(const trace::GraphDestroy&);
  void On(const trace::GraphNode&);
  void On(const trace::GraphNodeEnd&);
  void On(const trace::GraphEdges&);
  void On(const trace::GraphClone&);
  void On(const trace::GraphInstantiate&);
  void On(const trace::GraphExecUpdate&);
  void On(const trace::GraphExecDestroy&);
  void On(const trace::GraphLaunch&);
  void On(const trace::GraphNodeChange&);

  // on_nccl.cc
  void On(const trace::NcclComm&);
  void On(const trace::NcclCommEnd&);
  void On(const trace::NcclCall&);
  void On(const trace::NcclGroupEnd&);
  void On(const trace::NcclPlugIn&);
  void FindStreams(std::vector<NcclAsked>& all);
  bool IsNcclKernel(StringId kernel);
  bool IsNcclsOwn(const trace::Launch& record, StringId kernel);
  void EmitGroup(const NcclWork& work);
  void EmitCalls(const NcclWork& work, const StreamLife& stream);
  void CaptureGroup(const NcclWork& work, const std::vector<StreamLife>& streams,
                    OpenCapture& capture);
  void AddNcclAccesses(const trace::NcclCall& call, const NcclMember& comm);
  void JoinStreams(const std::vector<StreamLife>& streams, bool before);

  // ranks.cc
  std::string IdentityOf(const trace::NcclComm& record);
  CommEnd& EndOf(const NcclMember& comm);

  // on_memory.cc
  void On(const trace::Alloc&);
  void On(const trace::Free&);
  void Unmap(const trace::Free& record);
  bool OpenAgain(Range range);
  void ShareHandle(const trace::Shared& record);
  void ShareMapping(SharedThing& thing, BufferId buffer);
  void On(const trace::Shared&);
  void On(const trace::AllocAsync&);
  void On(const trace::FreeAsync&);
  void On(const trace::NotePoolAlloc&);
  void On(const trace::NotePoolFree&);
  void On(const trace::NotePoolRecordUse&);
  void On(const trace::NoteBuffer&);
  StringId MakeRoom(Range range);
  void EndMissed(const std::vector<Block*>& blocks);
  Op& BeginTenancy(Block& block, OpKind kind, const ContextLife& context, uint64_t stack);
  bool IsTold(const Block& block) const;
  bool EndTenancy(Block& block, OpKind kind, uint64_t stack, uint32_t flags = 0,
                  const StreamLife* stream = nullptr);
  bool EndDriverBlock(Block& block, OpKind kind, uint64_t stack,
                      const StreamLife* stream = nullptr);
  void AddBlockRange(const Block& block);
  void NameBlock(Block& block, Range range, StringId name);
  void NameUnknown(Range range, StringId name);

  // on_notes.cc
  void On(const trace::NoteKernelAccess&);
  void On(const trace::NoteAccess&);
  void On(const trace::NoteHostAccess&);
  void On(const trace::NoteRelease&);
  void On(const trace::NoteAcquire&);
  void On(const trace::NoteFill&);
  void On(const trace::NoteDeviceFlag&);
  void On(const trace::NoteStreamName&);
  void On(const trace::NoteThreadName&);
  void On(const trace::Doing&);
  void On(const trace::PlugIn&);
  void On(const trace::OperatorTensors&);
  void On(const trace::Mark&) {}  // for whoever feeds the importer
  void On(const trace::Time& record) { now_ns_ = std::max(now_ns_, record.ns); }

  // Order.
  Now now_;
  uint64_t last_seq_ = 0;
  uint64_t now_ns_ = 0;  // as the last Time record says
  OpId last_op_ = 0;
  HoldQueue held_;
  OverlapWatch overlaps_;
  std::vector<trace::Record>
      deferred_;  // calls that take effect when they return; about one a thread
  std::vector<OpenSync> syncs_;
  bool exiting_ = false;

  // Who is who.
  std::unordered_map<uint32_t, ThreadLife> threads_;
  std::unordered_set<StringId> thread_names_;  // of living threads
  std::string main_os_name_;
  std::deque<HostId> ended_hosts_;
  uint32_t hosts_made_ = 0;
  uint64_t threads_made_ = 0;
  Contexts contexts_;
  Streams streams_;
  Events events_;
  std::unordered_map<uint64_t, Function> functions_;
  std::vector<bool> early_;  // of the last launch's accesses: come before its grid-dependency wait
  std::unordered_map<uint64_t, HostFunctionRun> host_functions_;  // by token
  std::deque<uint64_t> tokens_;                                   // oldest first
  std::unordered_map<OpId, OpId> told_host_functions_;            // of graphs: as told last
  DenseIds pools_, tags_;

  // What tensor maps cover, by their first 8 bytes; several with one first word: the largest.
  struct TensorMapRange {
    uint64_t address = 0, bytes = 0;
    BufferId buffer = 0;  // that was there when it was encoded
    bool exact = true;
  };
  std::unordered_map<uint64_t, TensorMapRange> tensor_maps_;

  Nccl nccl_;
  RankCalls calls_of_rank_;

  // Graphs.
  bool building_ = false;
  StreamLife by_hand_;  // stands for the stream of nodes that were added by hand
  HoldQueue node_ops_;  // what a node's record makes; swapped with held_ meanwhile
  std::unordered_map<uint64_t, GraphBody> graphs_;      // by handle
  std::unordered_map<uint64_t, uint64_t> node_graphs_;  // node -> graph
  std::unordered_map<uint64_t, GraphNode> orphans_;     // their graph is told next
  std::unordered_map<uint64_t, ExecutableGraph> executables_;
  std::unordered_map<StreamId, std::shared_ptr<OpenCapture>> capturing_;
  std::unordered_map<BufferId, Block> graph_blocks_;        // that graphs allocate
  std::unordered_set<BufferId> told_of_graphs_;             // those whose allocation was emitted
  std::unordered_map<BufferId, StringId> names_of_graphs_;  // given before that
  struct Kept {
    uint64_t end = 0;
    BufferId buffer = 0;
  };
  std::map<uint64_t, Kept> pool_of_graphs_;  // by begin: what allocators handed out to captures
  uint32_t executables_made_ = 0;
  uint64_t own_numbers_ = 0;
  DenseIds flags_;  // by address

  // Memory.
  MemoryMap memory_;
  BufferId buffers_made_ = 0;
  std::vector<Range> device_flags_;
  // Of a handle that is mapped somewhere: to how many ranges, and where last.
  struct Mapping {
    uint32_t ranges = 0;
    uint64_t last = 0;
  };
  std::unordered_map<uint64_t, Mapping> mappings_;
  std::unordered_map<uint64_t, SharedThing> shared_handles_;  // what is mapped of them is shared
  std::unordered_set<EventId> shared_events_;                 // with other processes
  std::unordered_set<EventId> foreign_events_;  // that only other processes have recorded
  std::vector<Block*> blocks_;                  // scratch
  bool maps_unseen_ = false;                    // memory comes alive in ways that are not modelled

  // Coverage.
  Counts counts_;
  uint64_t calls_ = 0, dropped_ = 0;
  uint64_t launches_ = 0, launches_resolved_ = 0;
  std::map<uint64_t, uint64_t> unmodelled_;  // by text id
  struct UnresolvedKernel {
    uint64_t launches = 0;
    std::string reason;  // of the latest launch
  };
  std::map<StringId, UnresolvedKernel> unresolved_;
  bool plug_in_ = false, pytorch_ = false;  // whose image is mapped
  std::vector<StringId> gaps_;              // that plug-ins told of
};

}  // namespace ss
