#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr uint32_t kMaxDevice = 1023;
constexpr size_t kMaxHosts = 0xffff;
constexpr uint32_t kMaxGreenContexts = 0xffff - 1 - kMaxDevice;  // 16 bits, with all devices' own

// What may come next, or nothing more.
std::string OneOf(std::vector<std::string> words) {
  const char* end = "the end of the line";
  return words.empty() ? end : fmt::format("{} or {}", fmt::join(words, ", "), end);
}

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
      at_.Number(fmt::format("the number of a device, 0 to {}", kMaxDevice), kMaxDevice));
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

// Clauses come in any order. A context is of one device. Gives the word that says the type; without
// one the token is empty.
Token Parser::StreamClauses(Stream& stream) {
  Token home, type_word;  // what says the device; the type
  std::optional<StreamType> type;
  while (!at_.AtEnd()) {
    const Token word = at_.Peek();
    if (home.text.empty() && at_.Accept("device")) {
      home = word;
      stream.device = stream.context = DeviceNumber();
    } else if (home.text.empty() && at_.Accept("context")) {
      home = at_.Name("a context declared above");
      const Stream* context = FindStream(home.text);
      if (context == nullptr || context->type != StreamType::kContext)
        Refuse(home, "a context declared above", WhatItIs(home));
      stream.device = context->device;
      stream.context = context->context;
      stream.green = context->green;
    } else if (StreamTypeClause(&type)) {
      type_word = word;
    } else {
      RefuseStreamClause(type.has_value(), stream, home);
    }
  }
  stream.type = type.value_or(StreamType::kNonBlocking);
  return type_word;
}

// Names only what may still come.
void Parser::RefuseStreamClause(bool typed, const Stream& stream, const Token& home) {
  std::vector<std::string> still;
  if (!typed) still = {"nonblocking", "blocking", "legacy", "per-thread"};
  if (home.text.empty()) still.insert(still.end(), {"'device N'", "'context C'"});
  std::string remedy;
  if (at_.Sees("device") || at_.Sees("context")) {
    remedy = home.text == "device"
                 ? fmt::format("it is on device {} already", stream.device)
                 : fmt::format("context {} is on device {}", Quoted(home), stream.device);
  }
  Refuse(at_.Peek(), OneOf(std::move(still)), remedy);
}

void Parser::DeclareStream() {
  Token name = at_.Name("a name for the stream");
  RefuseUsedLane(name);
  Stream stream;
  const Token type = StreamClauses(stream);
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
  RefuseUsedLane(name);
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
      std::vector<std::string> still;
      if (!whole.green) still.push_back("'green'");
      if (!device) still.push_back("'device N'");
      Refuse(at_.Peek(), OneOf(std::move(still)));
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
      Refuse(token, fmt::format("no second name: '{}' is the device's primary context", other_name),
             "'green' makes a context of its own");
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
