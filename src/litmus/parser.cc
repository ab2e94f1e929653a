#include "src/litmus/parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss::litmus {
namespace {

constexpr uint32_t kMaxRank = 1023;
constexpr uint64_t kFirstAddress = 0x100000;  // 0 is no address

bool IsDeclaration(const Op& op) {
  return op.kind == OpKind::kHostBegin || op.kind == OpKind::kStreamCreate ||
         op.kind == OpKind::kAlloc;
}

// Ranks run side by side: what a rank declares before it does anything is there before whatever
// another rank does, although its section may stand further down (`A@N` above A).
void DeclareFirst(std::vector<Op>& ops) {
  std::map<HostId, uint32_t> rank_of;
  std::set<uint32_t> busy;
  std::vector<Op> first, then;
  for (const Op& op : ops) {
    if (op.kind == OpKind::kHostBegin) rank_of[op.host] = op.aux;
    const uint32_t rank = rank_of[op.host];
    if (!IsDeclaration(op)) busy.insert(rank);
    (busy.contains(rank) ? then : first).push_back(op);
  }
  first.insert(first.end(), then.begin(), then.end());
  ops = std::move(first);
  for (size_t i = 0; i < ops.size(); ++i) ops[i].id = i + 1;
}

}  // namespace

Parser::Parser(std::string file_name, const PeerTable* peers) : peers_(peers) {
  Program& program = file_.program;
  program.source = std::move(file_name);
  // Ids start at 1: 0 means none in an Op.
  for (auto* names :
       {&program.event_names, &program.flag_names, &program.comm_names, &program.graph_names}) {
    names->emplace_back();
  }
}

LitmusFile Parser::Run(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    at_ = Cursor(Tokenise(text.substr(0, end), ++line_));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (at_.AtEnd()) continue;
    any = true;
    Statement();
  }
  // A file that was cut off, or another one than was meant: nothing can be said of it.
  if (!any)
    throw SyntaxError{1, 1, "found no statement, expected a litmus file",
                      "docs/litmus.md describes them"};
  Finish(line_);
  return std::move(file_);
}

const std::map<std::string_view, Parser::Handler>& Parser::Statements() {
  static const std::map<std::string_view, Handler> kStatements = {
      {"title", &Parser::Title},
      {"mode", &Parser::Mode},
      {"stream", &Parser::DeclareStream},
      {"context", &Parser::DeclareContext},
      {"destroy", &Parser::DestroyStream},
      {"host", &Parser::DeclareHost},
      {"rank", &Parser::DeclareRank},
      {"alloc", &Parser::Alloc},
      {"malloc_async", &Parser::MallocAsync},
      {"free", &Parser::Free},
      {"free_async", &Parser::FreeAsync},
      {"record_stream", &Parser::RecordStream},
      {"fill", &Parser::Fill},
      {"view", &Parser::View},
      {"reserve", &Parser::Reserve},
      {"map", &Parser::Map},
      {"unmap", &Parser::Unmap},
      {"sync", &Parser::Sync},
      {"query", &Parser::Query},
      {"handoff", &Parser::Handoff},
      {"read", &Parser::HostAccess},
      {"write", &Parser::HostAccess},
      {"capture", &Parser::BeginCapture},
      {"end", &Parser::EndCapture},
      {"expect", &Parser::Expect},
  };
  return kStatements;
}

void Parser::Statement() {
  host_token_ = Token{};
  if (at_.Sees("@")) {
    at_.Take();
    host_token_ = at_.Name("the name of a host thread");
  }
  host_ = 0;
  if (at_.Peek(1).kind == Token::Kind::kSymbol && at_.Peek(1).text == ":") return LaneStatement();
  static const std::set<std::string_view> kNobodys = {"title", "mode", "rank", "expect"};
  const Token& word = at_.Peek();
  auto statement = Statements().find(word.text);
  if (word.kind != Token::Kind::kWord || statement == Statements().end()) {
    const bool works = word.kind == Token::Kind::kWord && StreamOperations().count(word.text);
    Refuse(word, "a statement: a declaration, 'STREAM: OP', 'HOST: read', 'sync', 'expect', ...",
           works ? "an operation of a stream: 'STREAM: " + word.text + "'" : "");
  }
  bool nobodys = kNobodys.count(word.text);
  if (nobodys && !host_token_.text.empty()) Refuse(word, "a statement that a host thread issues");
  if (!nobodys) host_ = host_token_.text.empty() ? Scope().main : UseHost(host_token_);
  at_.Take();
  (this->*statement->second)();
}

void Parser::LaneStatement() {
  Token lane = at_.Name("a stream, context or host thread declared above");
  at_.Expect(":");
  host_ = host_token_.text.empty() ? Scope().main : UseHost(host_token_);
  if (!Scope().hosts.count(lane.text)) return StreamOperation(lane);
  if (!host_token_.text.empty())
    Refuse(lane, "a stream: '@" + host_token_.text + "' names the host thread");
  host_ = UseHost(lane);
  if (!at_.Sees("read") && !at_.Sees("write")) {
    const bool statement = Statements().count(at_.Peek().text);
    Refuse(at_.Peek(), "'read' or 'write'",
           statement
               ? fmt::format("'@{} {}' issues that from the thread", lane.text, at_.Peek().text)
               : "");
  }
  at_.Take();
  HostAccess();
}

void Parser::Finish(uint32_t lines) {
  if (capture_) {
    throw SyntaxError{
        lines + 1, 1,
        fmt::format("found the end of the file, expected 'end' of the capture of {} in line {}",
                    Quoted(capture_->name), capture_->name.line),
        "put 'end' behind its last operation"};
  }
  for (const auto& [token, rank] : ranks_named_) {
    if (!ranks_.count(rank)) Refuse(token, "a rank that the file opens with 'rank N'");
  }
  CheckNames();
  Scope();  // a file without a statement still has its main thread
  if (ranks_.size() > 1) DeclareFirst(file_.program.ops);
}

RankScope& Parser::Scope() { return scope_ ? *scope_ : OpenRank(0); }

RankScope& Parser::OpenRank(uint32_t rank) {
  auto [entry, fresh] = ranks_.try_emplace(rank);
  scope_ = &entry->second;
  if (!fresh) return *scope_;
  scope_->rank = rank;
  scope_->next_address = (uint64_t{rank} << 48) + kFirstAddress;
  scope_->main = AddHost("main", rank);
  return *scope_;
}

Op& Parser::Emit(OpKind kind, std::string_view name, const std::vector<Access>& accesses) {
  Program& program = file_.program;
  Op op;
  op.kind = kind;
  op.host = host_;
  op.name = Intern(name);
  op.line = line_;
  op.id = program.ops.size() + 1;
  op.access_begin = static_cast<uint32_t>(program.accesses.size());
  op.access_count = static_cast<uint32_t>(accesses.size());
  program.accesses.insert(program.accesses.end(), accesses.begin(), accesses.end());
  program.ops.push_back(op);
  return program.ops.back();
}

void Parser::Need(int rule, std::string_view what) {
  for (const LitmusFile::Need& need : file_.needs) {
    if (need.rule == rule && need.what == what) return;
  }
  file_.needs.push_back({rule, std::string(what)});
}

StringId Parser::Label() {
  Token label = at_.Name("a label");
  if (Scope().IsLane(label.text)) Refuse(label, "a label that is no stream, host thread or graph");
  Scope().labels.insert(label.text);
  return Intern(label.text);
}

StringId Parser::LabelAndEnd() {
  StringId label = 0;
  if (at_.Accept("as")) label = Label();
  at_.ExpectEnd();
  return label;
}

Stream* Parser::FindStream(const std::string& name) {
  auto found = Scope().streams.find(name);
  return found == Scope().streams.end() || found->second.ended_line ? nullptr : &found->second;
}

Token Parser::StreamName() {
  Token name = StreamOrContextName();
  if (UseStream(name).type == StreamType::kContext) {
    Refuse(name, "a stream declared above", fmt::format("{} is a context", Quoted(name)));
  }
  return name;
}

Token Parser::StreamOrContextName() {
  Token name = at_.Name("a stream declared above");
  UseStream(name);
  return name;
}

Stream& Parser::UseStream(const Token& name) {
  if (Stream* stream = FindStream(name.text)) return *stream;
  auto ended = Scope().streams.find(name.text);
  if (ended == Scope().streams.end()) Refuse(name, "a stream declared above", WhatItIs(name));
  Refuse(name, "a stream declared above",
         fmt::format("destroyed in line {}", ended->second.ended_line));
}

HostId Parser::UseHost(const Token& name) {
  auto found = Scope().hosts.find(name.text);
  if (found == Scope().hosts.end()) {
    const std::string other = WhatItIs(name);
    Refuse(name, "a host thread declared above",
           other.empty() ? "'host NAME' declares one" : other);
  }
  return found->second;
}

// For the remedy of an error: what a name stands for that was taken for something else.
std::string Parser::WhatItIs(const Token& name) {
  std::string kind = Scope().KindOf(name.text);
  if (kind.empty() && Scope().labels.count(name.text)) kind = "label";
  if (kind.empty() && events_.count({Scope().rank, name.text})) kind = "event";
  if (kind.empty() && flags_.count({Scope().rank, name.text})) kind = "flag";
  if (kind.empty() && comms_.count(name.text)) kind = "communicator";
  if (kind.empty()) return "";
  const char* article = kind == "physical memory" ? "" : kind == "event" ? "an " : "a ";
  return fmt::format("{} is {}{}", Quoted(name), article, kind);
}

// Of what comes into being where it is first named: a name that stands for something else would
// silently become a new one.
void Parser::RefuseOtherKind(const Token& name, const std::string& wanted, const RankScope& scope,
                             const std::string& remedy) {
  const std::string kind = scope.KindOf(name.text);
  if (!kind.empty()) Refuse(name, fmt::format("{}; the name is a {}'s", wanted, kind), remedy);
  if (name.text == "device")
    Refuse(name, wanted + " of another name: 'sync device' is the device's");
}

// The name has been read. E@N is rank N's event. A record may make an event of a buffer's name,
// a wait for one would wait for nothing.
EventId Parser::UseEvent(const Token& name, bool records) {
  uint32_t rank = Scope().rank;
  if (at_.Accept("@")) {
    const Token rank_token = at_.Peek();
    rank = RankNumber();
    ranks_named_.push_back({rank_token, rank});
    Need(8, "interprocess event");
  }
  if (auto known = events_.find({rank, name.text}); known != events_.end()) return known->second;
  if (auto scope = ranks_.find(rank); scope != ranks_.end()) {
    const bool buffer = records && scope->second.buffers.count(name.text);
    const bool far = rank != Scope().rank && scope->second.streams.count(name.text);
    const std::string remedy =
        far ? fmt::format(
                  "what rank {0} does is waited for by an event: '{1}: record E' there, "
                  "'E@{0}' here",
                  rank, name.text)
            : "";
    if (!buffer) RefuseOtherKind(name, "an event", scope->second, remedy);
  }
  events_[{rank, name.text}] = next_event_;
  file_.program.event_names.resize(next_event_ + 1);
  file_.program.event_names[next_event_] = name.text;
  return next_event_++;
}

// Streams, hosts and graphs share one set of names: each may stand before ':' or in an expect line.
void Parser::RefuseUsedLane(const Token& name) {
  const RankScope& scope = Scope();
  if (scope.labels.count(name.text)) Refuse(name, "a name that is no label");
  bool stream = scope.streams.count(name.text) && FindStream(name.text);
  if (stream || scope.hosts.count(name.text) || scope.graphs.count(name.text))
    Refuse(name, fmt::format("a new name; this one is a {}'s", scope.KindOf(name.text)));
  if (events_.count({scope.rank, name.text})) Refuse(name, "a new name; this one is an event's");
  if (flags_.count({scope.rank, name.text})) Refuse(name, "a new name; this one is a flag's");
  if (comms_.count(name.text)) Refuse(name, "a new name; this one is a communicator's");
  if (name.text == "device") Refuse(name, "another name: 'sync device' is the device's");
}

uint32_t Parser::RankNumber() {
  return static_cast<uint32_t>(
      at_.Number(fmt::format("the number of a rank, 0 to {}", kMaxRank), kMaxRank));
}

}  // namespace ss::litmus
