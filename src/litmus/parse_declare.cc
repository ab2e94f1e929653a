#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr uint32_t kMaxDevice = 1023;
constexpr size_t kMaxHosts = 0xffff;
constexpr uint32_t kMaxGreenContexts = 0xffff - 1 - kMaxDevice;  // 16 bits, with all devices' own

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

bool Parser::StreamTypeClause(std::optional<StreamType>* type) {
  static const std::map<std::string_view, StreamType> kTypes = {
      {"nonblocking", StreamType::kNonBlocking},
      {"blocking", StreamType::kBlocking},
      {"legacy", StreamType::kLegacy},
      {"per-thread", StreamType::kPerThread}};
  const auto named = type->has_value() ? kTypes.end() : kTypes.find(at_.Peek().text);
  if (named == kTypes.end()) return false;
  at_.Take();
  *type = named->second;
  return true;
}

void Parser::RefuseUsedStreamName(const Token& name) {
  RefuseUsedLane(name);
  if (events_.count({Scope().rank, name.text})) Refuse(name, "a new name; this one is an event's");
  if (name.text == "device") Refuse(name, "another name: 'sync device' is the device's");
}

// Clauses come in any order. A context is of one device.
void Parser::StreamClauses(Stream& stream) {
  bool placed = false;
  std::optional<StreamType> type;
  while (!at_.AtEnd()) {
    if (!placed && at_.Accept("device")) {
      placed = true;
      stream.device = stream.context = DeviceNumber();
    } else if (!placed && at_.Accept("context")) {
      placed = true;
      const Token name = at_.Name("a context declared above");
      const Stream* home = FindStream(name.text);
      if (home == nullptr || home->type != StreamType::kContext)
        Refuse(name, "a context declared above");
      stream.device = home->device;
      stream.context = home->context;
      stream.green = home->green;
    } else if (!StreamTypeClause(&type)) {
      Refuse(at_.Peek(), "nonblocking, blocking, legacy, per-thread, 'device N' or 'context C'");
    }
  }
  stream.type = type.value_or(StreamType::kNonBlocking);
}

void Parser::DeclareStream() {
  Token name = at_.Name("a name for the stream");
  RefuseUsedStreamName(name);
  Stream stream;
  const Token type = at_.Peek();
  StreamClauses(stream);
  const bool on_its_own =
      stream.type == StreamType::kNonBlocking || stream.type == StreamType::kLegacy;
  if (stream.green && !on_its_own)
    Refuse(type, "nonblocking or legacy: a green context has no others");
  RefuseSecondOfContext(type, stream);
  AddStream(name, stream);
}

void Parser::AddStream(const Token& name, Stream stream) {
  stream.id = next_stream_++;
  Scope().streams[name.text] = stream;
  Op& op = Emit(OpKind::kStreamCreate, name.text);
  op.stream = stream.id;
  op.aux = static_cast<uint32_t>(stream.type);
  op.value = stream.device | uint64_t{stream.context} << 16 | uint64_t{Scope().rank} << 32;
  if (stream.green) op.object = stream.device + 1;
}

// The device's primary context, or a green one of it.
void Parser::DeclareContext() {
  Token name = at_.Name("a name for the context");
  RefuseUsedStreamName(name);
  Stream whole;
  whole.type = StreamType::kContext;
  bool device = false;
  while (!at_.AtEnd()) {
    if (!whole.green && at_.Accept("green")) {
      whole.green = true;
    } else if (!device && at_.Accept("device")) {
      device = true;
      whole.device = DeviceNumber();
    } else {
      Refuse(at_.Peek(), "'green' or 'device N'");
    }
  }
  if (whole.green && green_contexts_ == kMaxGreenContexts)
    Refuse(name, fmt::format("at most {} green contexts", kMaxGreenContexts));
  whole.context = whole.green ? kMaxDevice + ++green_contexts_ : whole.device;
  RefuseSecondOfContext(name, whole);
  AddStream(name, whole);
}

// A context has one legacy and one per-thread default stream, and one name; two would be two lanes
// for one.
void Parser::RefuseSecondOfContext(const Token& token, const Stream& stream) {
  if (stream.type == StreamType::kNonBlocking || stream.type == StreamType::kBlocking) return;
  for (const auto& [other_name, other] : Scope().streams) {
    if (other.ended_line || other.type != stream.type || other.context != stream.context) continue;
    if (stream.type == StreamType::kContext)
      Refuse(token, fmt::format("'green': '{}' is the device's primary context", other_name));
    Refuse(token, fmt::format("another type: '{}' is this context's default stream of that kind",
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
