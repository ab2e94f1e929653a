// The statements of a litmus file, lowered to Ops as they are read.
//
// One class, several files: parse_declare.cc (streams, hosts, ranks, title), parse_memory.cc (alloc
// ... fill), parse_virtual.cc (reserve, map, unmap), parse_stream.cc and parse_kernel.cc (`S: OP`),
// parse_host.cc (sync, query, CPU accesses), capture.cc (what a capture forbids), parse_expect.cc.
// Statements are lowered at once: a tree would be walked once, in this order. The one thing that
// needs a look ahead, `A@N` above rank N's section, is a second pass.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/litmus/cursor.h"
#include "src/litmus/litmus.h"
#include "src/litmus/scope.h"

namespace ss::litmus {

constexpr OpFlags kNoFlags{};

class Parser {
 public:
  // `peers`: what the first pass learned, nullptr in the first pass itself.
  Parser(std::string file_name, const PeerTable* peers);

  LitmusFile Run(std::string_view text);  // throws SyntaxError

  bool needs_second_pass() const { return needs_second_pass_; }
  const PeerTable& declared() const { return declared_; }

 private:
  using Handler = void (Parser::*)();
  using StreamHandler = void (Parser::*)(const Token& lane);

  // What one operation's clauses say, before it is emitted.
  struct Clauses {
    std::vector<Access> accesses;
    StringId label = 0;
  };
  // The words that begin a clause of an operation, and so end a list of buffers: elsewhere they are
  // names.
  struct ClauseWords {
    std::set<std::string_view> words;
    bool cpu = false;  // its accesses are the CPU's
    bool rows = true;  // which may leave gaps
  };
  static const ClauseWords kKernelWords, kHostWords, kCollectiveWords;
  // Bytes named in an operation. `known` is false for a peer's buffer in the first pass.
  struct Target {
    Token token;
    Access access;
    size_t storage = 0;
    bool known = true;
    std::optional<Shape> rows;  // of a range with gaps
    uint64_t size() const { return access.end - access.begin; }
    uint64_t bytes() const { return rows ? rows->Bytes() : size(); }
  };
  // A capture in progress.
  struct Capture {
    Token name;
    uint32_t graph = 0;
    std::set<std::pair<StreamId, HostId>> lanes;  // the host only for per-thread streams, else 0
    std::set<EventId> events;                     // recorded inside
  };
  struct NameCheck {
    Token token;
    enum class What : uint8_t { kBuffer, kSite, kLane, kComm, kOperation, kAny } what{};
  };

  // parser.cc
  void Statement();
  void LaneStatement();
  void Finish(uint32_t lines);
  RankScope& Scope();
  RankScope& OpenRank(uint32_t rank);
  Op& Emit(OpKind kind, std::string_view name, const std::vector<Access>& accesses = {});
  StringId Intern(std::string_view text) { return file_.program.strings.Intern(text); }
  void Need(int rule, std::string_view what);
  StringId Label();        // after `as`
  StringId LabelAndEnd();  // [as LABEL] and nothing more
  void Closing(Op& op) { op.label = LabelAndEnd(); }
  Stream* FindStream(const std::string& name);  // a live one
  Token StreamName();
  Token StreamOrContextName();
  Stream& UseStream(const Token& name);
  HostId UseHost(const Token& name);
  EventId UseEvent(const Token& name, bool records = false);
  std::string WhatItIs(const Token& name);
  void RefuseOtherKind(const Token& name, const std::string& wanted, const RankScope& scope,
                       const std::string& remedy = "");
  void RefuseUsedLane(const Token& name);
  uint32_t RankNumber();

  // parse_declare.cc
  void Title();
  void Mode();
  void DeclareStream();
  void DeclareContext();
  Token StreamClauses(Stream& stream);
  void AddStream(const Token& name, Stream stream);
  void DestroyStream();
  void DeclareHost();
  void DeclareRank();
  void RefuseStreamClause(bool typed, const Stream& stream, const Token& home);
  bool StreamTypeClause(std::optional<StreamType>* type);
  void RefuseSecondOfContext(const Token& name, const Stream& stream);
  HostId AddHost(const std::string& name, uint32_t rank);
  uint32_t DeviceNumber();

  // parse_memory.cc
  void Alloc();
  void AllocOnStream(const Token& name, uint64_t bytes);
  void AllocPlain(const Token& name, uint64_t bytes);
  void MallocAsync();
  void Free();
  void FreeAsync();
  void RecordStream();
  void Fill();
  void View();
  Token NewBufferName();
  std::optional<uint64_t> ReuseClause(uint64_t bytes, MemoryKind memory);
  // `at`: where it begins, if not on pages of its own.
  size_t AddStorage(const Token& name, Storage storage, std::optional<uint64_t> at, uint64_t bytes);
  Op& EmitAlloc(OpKind kind, const Token& name, size_t storage, uint32_t device);
  Buffer& UseBuffer(const Token& name);
  Storage& WholeBuffer(const Token& name);  // refuses a view
  void MarkFreed(const Token& name, Storage& storage);
  Target AnyTarget();                   // A, A[0:4K], A[0:256 pitch 1K rows 16], A@N
  Target OwnTarget(const Token& name);  // of this rank
  Target Range(const Token& name);      // the same; of a reserved range, whatever is mapped there
  Target PeerTarget(const Token& name);
  void RangeClause(Target& target);
  void RefuseBeyond(const Target& target, uint64_t end, const Token& token);
  Shape RowsClause(const Shape& inside);
  static void RefuseRows(const Target& target, const std::string& what);
  void RefuseDeviceMemory(const Target& target);

  // parse_virtual.cc
  void Reserve();
  void Map();
  void Unmap();
  std::optional<uint64_t> AtClause(uint64_t bytes);
  Target ReservedRange();
  std::vector<size_t> CutFrom(const Target& target, MemoryKind kind, bool live) const;
  uint64_t FirstHole(const Target& target, bool live) const;
  void RefuseUnmapped(const Target& target, bool live) const;

  // parse_stream.cc, parse_kernel.cc
  void StreamOperation(const Token& lane);
  void RefuseWorkOnContext(const Token& lane);
  static std::string HostsStatement(const Token& lane, const Token& word);
  Op& EmitOn(const Token& lane, OpKind kind, std::string_view name, const Clauses& clauses);
  void Kernel(const Token& lane);
  void Pdl(const Token& lane);
  void PdlWait(const Token& lane);
  void KernelWith(const Token& lane, uint16_t flags);
  void Copy(const Token& lane);
  void Memset(const Token& lane);
  void Record(const Token& lane);
  void Wait(const Token& lane);
  bool External(const Token& lane);
  uint32_t BatchWords(const Token& lane);
  void WaitStream(const Token& lane);
  void WaitForStream(const Token& lane, const Token& producer);
  void HostFunction(const Token& lane);
  void Signal(const Token& lane);
  void Await(const Token& lane);
  void SignalOrAwait(const Token& lane, OpKind kind);
  void Launch(const Token& lane);
  void Collective(const Token& lane);
  uint64_t CollectiveClauses(CollectiveKind kind, std::string_view partner_word, Clauses& clauses);
  void AccessList(uint8_t mode, const ClauseWords& words, Clauses& clauses);
  bool AccessClause(const ClauseWords& words, Clauses& clauses);
  bool AsClause(Clauses& clauses);
  uint32_t FlagId(uint32_t rank, const std::string& name);
  uint32_t CommId(const std::string& name);

  // parse_host.cc
  void Sync();
  void SyncDevice(uint32_t device, uint32_t context);
  void Query();
  void Handoff();
  void HostAccess();

  // capture.cc
  void BeginCapture();
  void EndCapture();
  void RefuseInCapture(const Token& what, const std::string& why);
  bool Captured(const Token& lane);  // true outside a capture
  void RefuseUncaptured(const Token& lane);
  std::pair<StreamId, HostId> CaptureLane(const Stream& stream) const;
  void CaptureWait(const Token& lane, const Token& event, EventId id, bool external);

  // parse_expect.cc
  void Expect();
  void ExpectAdvice(Expectation& expectation);
  void ExpectHazard(Expectation& expectation);
  void ExpectSites(Expectation& expectation);
  ExpectFix FixClause();
  std::string Checked(NameCheck::What what, const std::string& expected);
  void RefuseContradiction(const Token& token, const Expectation& expectation);
  void CheckNames();
  bool Known(const NameCheck& check) const;

  static const std::map<std::string_view, Handler>& Statements();
  static const std::map<std::string_view, StreamHandler>& StreamOperations();

  LitmusFile file_;
  const PeerTable* peers_;
  PeerTable declared_;
  bool needs_second_pass_ = false;

  Cursor at_;  // the line being read
  uint32_t line_ = 0;
  HostId host_ = 0;   // who issues the statement
  Token host_token_;  // of `@HOST`, empty = main

  std::map<uint32_t, RankScope> ranks_;
  RankScope* scope_ = nullptr;  // nullptr: no rank is open yet
  std::vector<Storage> storages_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> flags_;
  std::map<std::string, uint32_t> comms_;
  std::set<std::string> kernels_;
  std::vector<std::pair<Token, uint32_t>>
      ranks_named_;  // checked at the end: sections come in any order
  std::vector<NameCheck> names_expected_;
  std::optional<Capture> capture_;
  HostId next_host_ = 0;
  StreamId next_stream_ = 1;
  uint32_t green_contexts_ = 0;
  EventId next_event_ = 1;
  std::map<std::pair<uint32_t, std::string>, EventId> events_;  // by rank and name
};

}  // namespace ss::litmus
