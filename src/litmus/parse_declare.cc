#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr uint32_t kMaxDevice = 1023;
constexpr size_t kMaxHosts = 0xffff;

}  // namespace

void Parser::Title() {
  file_.program.title = at_.Text("a title in quotes");
  at_.ExpectEnd();
}

void Parser::Mode() {
  bool strict = at_.Sees("strict");
  if (!strict && !at_.Sees("default")) Refuse(at_.Peek(), "'strict' or 'default'");
  at_.Take();
  at_.ExpectEnd();
  file_.program.strict = strict;
  file_.program.strict_stated = true;
}

uint32_t Parser::DeviceNumber() {
  return static_cast<uint32_t>(
      at_.Number(fmt::format("a device, 0 to {}", kMaxDevice), kMaxDevice));
}

StreamType Parser::StreamTypeClause() {
  if (at_.Accept("blocking")) return StreamType::kBlocking;
  if (at_.Accept("legacy")) return StreamType::kLegacy;
  if (at_.Accept("per-thread")) return StreamType::kPerThread;
  at_.Accept("nonblocking");
  return StreamType::kNonBlocking;
}

void Parser::DeclareStream() {
  Token name = at_.Name("a name for the stream");
  RefuseUsedLane(name);
  if (events_.count({Scope().rank, name.text})) Refuse(name, "a new name; this one is an event's");
  if (name.text == "device") Refuse(name, "another name: 'sync device' is the device's");
  Stream stream;
  if (at_.Accept("device")) stream.device = DeviceNumber();  // clauses come in any order
  const Token type = at_.Peek();
  stream.type = StreamTypeClause();
  if (!stream.device && at_.Accept("device")) stream.device = DeviceNumber();
  if (!at_.AtEnd()) Refuse(at_.Peek(), "nonblocking, blocking, legacy, per-thread or 'device N'");
  RefuseSecondDefault(type, stream);
  stream.id = next_stream_++;
  Scope().streams[name.text] = stream;
  Op& op = Emit(OpKind::kStreamCreate, name.text);
  op.stream = stream.id;
  op.aux = static_cast<uint32_t>(stream.type);
  op.value = stream.device | uint64_t{stream.device} << 16 | uint64_t{Scope().rank} << 32;
}

// A context has one legacy and one per-thread default stream; two names would be two lanes for one
// stream.
void Parser::RefuseSecondDefault(const Token& name, const Stream& stream) {
  if (stream.type != StreamType::kLegacy && stream.type != StreamType::kPerThread) return;
  for (const auto& [other_name, other] : Scope().streams) {
    if (other.ended_line || other.type != stream.type || other.device != stream.device) continue;
    Refuse(name, fmt::format("another type: '{}' is this device's default stream of that kind",
                             other_name));
  }
}

void Parser::DestroyStream() {
  Token name = StreamName();
  RefuseUncaptured(name);
  Stream& stream = UseStream(name);
  StringId label = LabelAndEnd();
  stream.ended_line = line_;
  Op& op = Emit(OpKind::kStreamDestroy, "destroy");
  op.stream = stream.id;
  op.label = label;
}

HostId Parser::AddHost(const std::string& name, uint32_t rank) {
  HostId id = next_host_++;
  ranks_[rank].hosts[name] = id;
  HostId issuer = host_;
  host_ = id;
  Op& op = Emit(OpKind::kHostBegin, name);
  op.aux = rank;
  if (name == "main") op.line = 0;  // no line declares it
  host_ = issuer;
  return id;
}

void Parser::DeclareHost() {
  Token name = at_.Name("a name for the host thread");
  RefuseUsedLane(name);
  at_.ExpectEnd();
  if (next_host_ == kMaxHosts) Refuse(name, fmt::format("at most {} host threads", kMaxHosts));
  AddHost(name.text, Scope().rank);
}

void Parser::DeclareRank() {
  if (capture_) Refuse(at_.Peek(), "'end' before another rank");
  uint32_t rank = RankNumber();
  at_.ExpectEnd();
  OpenRank(rank);
  Need(23, "rank");
}

}  // namespace ss::litmus
