// Operations whose clauses name buffers: kernels, host functions, collectives.
#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

struct KindRule {
  CollectiveKind kind{};
  const char* partner;  // the clause that it must have, "" = none
};

const std::map<std::string_view, KindRule>& Kinds() {
  static const std::map<std::string_view, KindRule> kKinds = {
      {"allreduce", {CollectiveKind::kAllReduce, ""}},
      {"allgather", {CollectiveKind::kAllGather, ""}},
      {"reducescatter", {CollectiveKind::kReduceScatter, ""}},
      {"alltoall", {CollectiveKind::kAllToAll, ""}},
      {"broadcast", {CollectiveKind::kBroadcast, "root"}},
      {"barrier", {CollectiveKind::kBarrier, ""}},
      {"send", {CollectiveKind::kSend, "peer"}},
      {"recv", {CollectiveKind::kRecv, "peer"}},
  };
  return kKinds;
}

}  // namespace

const Parser::ClauseWords Parser::kKernelWords{
    {"read", "write", "atomic", "as", "kernel", "launch_event"}};
const Parser::ClauseWords Parser::kHostWords{{"read", "write", "as"}, true};
const Parser::ClauseWords Parser::kCollectiveWords{
    {"read", "write", "as", "root", "peer"}, false, false};

// One or more buffers behind `read`, `write` or `atomic`. The first is a buffer whatever its name.
void Parser::AccessList(uint8_t mode, const ClauseWords& words, Clauses& clauses) {
  do {
    Target target = AnyTarget();
    if (words.cpu) RefuseDeviceMemory(target);
    if (!words.rows) RefuseRows(target, "a buffer");
    target.access.mode = mode;
    clauses.accesses.push_back(target.access);
  } while (!at_.AtEnd() && !words.words.count(at_.Peek().text));
}

bool Parser::AccessClause(const ClauseWords& words, Clauses& clauses) {
  static const std::map<std::string_view, uint8_t> kModes = {
      {"read", kRead}, {"write", kWrite}, {"atomic", kAtomic}};
  auto mode = kModes.find(at_.Peek().text);
  if (mode == kModes.end() || !words.words.count(mode->first)) return false;
  at_.Take();
  AccessList(mode->second, words, clauses);
  return true;
}

bool Parser::AsClause(Clauses& clauses) {
  if (clauses.label || !at_.Accept("as")) return false;
  clauses.label = Label();
  return true;
}

void Parser::Kernel(const Token& lane) { KernelWith(lane, 0); }

void Parser::Pdl(const Token& lane) {
  Need(13, at_.Take().text);
  KernelWith(lane, kPdl);
}

void Parser::PdlWait(const Token& lane) {
  Need(13, at_.Take().text);
  KernelWith(lane, kPdl | kPdlWait);
}

void Parser::KernelWith(const Token& lane, uint16_t flags) {
  Clauses clauses;
  std::string name;
  EventId event = 0;
  while (!at_.AtEnd()) {
    if (name.empty() && at_.Accept("kernel")) {
      name = at_.Name("a name for the kernel").text;
    } else if (!event && at_.Accept("launch_event")) {
      event = UseEvent(at_.Name("an event"), true);
      flags |= kLaunchEvent;
    } else if (!AccessClause(kKernelWords, clauses) && !AsClause(clauses)) {
      Refuse(at_.Peek(),
             "'kernel', 'read', 'write', 'atomic', 'launch_event' or 'as', each once but the "
             "accesses");
    }
  }
  if (event) Need(7, "launch_event");
  if (event && capture_) capture_->events.insert(event);
  if (!name.empty()) kernels_.insert(name);
  Op& op = EmitOn(lane, OpKind::kKernel, name.empty() ? "kernel" : name, clauses);
  op.object = event;
  op.flags = flags;
}

void Parser::HostFunction(const Token& lane) {
  at_.Take();
  Clauses clauses;
  while (!at_.AtEnd()) {
    if (!AccessClause(kHostWords, clauses) && !AsClause(clauses)) {
      Refuse(at_.Peek(), "'read', 'write' or 'as'");
    }
  }
  EmitOn(lane, OpKind::kHostFn, "host_fn", clauses);
}

uint32_t Parser::CommId(const std::string& name) {
  auto& names = file_.program.comm_names;
  auto [entry, fresh] = comms_.try_emplace(name, static_cast<uint32_t>(names.size()));
  if (fresh) names.push_back(name);
  return entry->second;
}

void Parser::Collective(const Token& lane) {
  at_.Take();
  const Token name = at_.Name("a communicator");
  RefuseOtherKind(name, "a communicator", Scope());
  uint32_t comm = CommId(name.text);
  Token word = at_.Peek();
  auto kind = Kinds().find(word.text);
  if (word.kind != Token::Kind::kWord || kind == Kinds().end()) {
    Refuse(word, "allreduce, allgather, reducescatter, alltoall, broadcast, barrier, send or recv");
  }
  at_.Take();
  Clauses clauses;
  uint64_t partner = CollectiveClauses(kind->second.kind, kind->second.partner, clauses);
  Need(23, "collective");
  Need(24, "collective");
  Op& op = EmitOn(lane, OpKind::kCollective, word.text, clauses);
  op.object = comm;
  op.aux = static_cast<uint32_t>(kind->second.kind);
  op.value = partner;
}

// Root or peer plus one, 0 = none. NCCL takes a root or a peer exactly where the kind has one.
uint64_t Parser::CollectiveClauses(CollectiveKind kind, std::string_view partner_word,
                                   Clauses& clauses) {
  uint64_t partner = 0;
  bool buffers = kind != CollectiveKind::kBarrier;
  while (!at_.AtEnd()) {
    if (buffers && AccessClause(kCollectiveWords, clauses)) continue;
    if (AsClause(clauses)) continue;
    if (partner || partner_word.empty() || !at_.Accept(partner_word)) {
      Refuse(at_.Peek(),
             fmt::format("{}{}'as'", buffers ? "'read', 'write' or " : "",
                         partner_word.empty() ? "" : fmt::format("'{} N' or ", partner_word)));
    }
    partner = uint64_t{RankNumber()} + 1;
  }
  if (!partner && !partner_word.empty()) Refuse(at_.Peek(), fmt::format("'{} N'", partner_word));
  return partner;
}

}  // namespace ss::litmus
