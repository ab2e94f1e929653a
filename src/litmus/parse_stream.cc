#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {

const std::map<std::string_view, Parser::StreamHandler>& Parser::StreamOperations() {
  static const std::map<std::string_view, StreamHandler> kOperations = {
      {"kernel", &Parser::Kernel},
      {"read", &Parser::Kernel},
      {"write", &Parser::Kernel},
      {"atomic", &Parser::Kernel},
      {"as", &Parser::Kernel},
      {"launch_event", &Parser::Kernel},
      {"pdl", &Parser::Pdl},
      {"pdl_wait", &Parser::PdlWait},
      {"copy", &Parser::Copy},
      {"copy_sync", &Parser::Copy},
      {"memset", &Parser::Memset},
      {"memset_async", &Parser::Memset},
      {"record", &Parser::Record},
      {"wait", &Parser::Wait},
      {"wait_stream", &Parser::WaitStream},
      {"host_fn", &Parser::HostFunction},
      {"signal", &Parser::Signal},
      {"await", &Parser::Await},
      {"launch", &Parser::Launch},
      {"collective", &Parser::Collective},
  };
  return kOperations;
}

// For the remedy of an error: `sync`, `free` and their like are no work of a stream.
std::string Parser::HostsStatement(const Token& lane, const Token& word) {
  if (word.kind != Token::Kind::kWord || !Statements().count(word.text)) return "";
  return fmt::format("'{}' is a statement of its own, without '{}:'", word.text, lane.text);
}

// Nothing runs on a context.
void Parser::RefuseWorkOnContext(const Token& lane) {
  const Token& word = at_.Peek();
  if (at_.Sees("record") || at_.Sees("wait") || at_.Sees("wait_stream"))
    return RefuseInCapture(lane, "a context cannot be captured");
  const bool works = word.kind == Token::Kind::kWord && StreamOperations().count(word.text);
  Refuse(word, "'record', 'wait' or 'wait_stream'",
         works ? fmt::format("{} is a context: work runs on a stream", Quoted(lane))
               : HostsStatement(lane, word));
}

void Parser::StreamOperation(const Token& lane) {
  auto known = Scope().streams.find(lane.text);
  if (known == Scope().streams.end())
    Refuse(lane, "a stream, context or host thread declared above", WhatItIs(lane));
  if (UseStream(lane).type == StreamType::kContext) RefuseWorkOnContext(lane);
  auto operation = StreamOperations().find(at_.Peek().text);
  if (at_.Peek().kind != Token::Kind::kWord || operation == StreamOperations().end()) {
    Refuse(at_.Peek(),
           "an operation: kernel, read, write, atomic, pdl, pdl_wait, copy, copy_sync, memset, "
           "memset_async, "
           "record, wait, wait_stream, host_fn, signal, await, launch or collective",
           HostsStatement(lane, at_.Peek()));
  }
  // A wait may be what brings the stream into a capture: it checks for itself.
  if (!at_.Sees("wait") && !at_.Sees("wait_stream")) RefuseUncaptured(lane);
  (this->*operation->second)(lane);
}

Op& Parser::EmitOn(const Token& lane, OpKind kind, std::string_view name, const Clauses& clauses) {
  Op& op = Emit(kind, name, clauses.accesses);
  op.stream = UseStream(lane).id;
  op.label = clauses.label;
  return op;
}

void Parser::Copy(const Token& lane) {
  Token word = at_.Take();
  bool blocking = word.text == "copy_sync";
  if (blocking) RefuseInCapture(word, "a blocking copy synchronises");
  Target destination = AnyTarget();
  at_.Expect("<-");
  Target source = AnyTarget();
  if (destination.known && source.known && source.bytes() != destination.bytes()) {
    Refuse(
        source.token,
        fmt::format("a source of {}, as much as the destination", BytesText(destination.bytes())),
        fmt::format("it has {}", BytesText(source.bytes())));
  }
  source.access.mode = kRead;
  destination.access.mode = kWrite;
  const uint32_t batched = blocking ? kBlocking : BatchWords(lane);
  Clauses clauses{{source.access, destination.access}, LabelAndEnd()};
  EmitOn(lane, OpKind::kCopy, word.text, clauses).flags = batched;
}

// What copies of a batch may say: when the source is read, and that the copy before is of the same
// batch.
uint32_t Parser::BatchWords(const Token& lane) {
  uint32_t flags = kNoFlags;
  if (at_.Sees("source")) {
    RefuseInCapture(at_.Take(), "in a graph the source is read in the stream's order");
    const Token when = at_.Take();
    if (when.text == "any_time") {
      flags |= kSourceAnyTime;
    } else if (when.text == "in_call") {
      flags |= kSourceInCall;
    } else {
      Refuse(when, "'any_time' or 'in_call'");
    }
  }
  if (at_.Sees("same_batch")) {
    const Token word = at_.Take();
    RefuseInCapture(word, "a graph's copies are in its order");
    std::vector<Op>& ops = file_.program.ops;
    const bool begun = !ops.empty() && ops.back().kind == OpKind::kCopy &&
                       ops.back().stream == UseStream(lane).id && ops.back().host == host_ &&
                       (ops.back().flags & kBlocking) == 0;
    if (!begun) Refuse(word, "the batch's copy before this one on the line above");
    if ((ops.back().flags & kSameBatch) == 0) ops.back().flags |= kBatchBegin;
    flags |= kSameBatch;
  }
  return flags;
}

void Parser::Memset(const Token& lane) {
  Token word = at_.Take();
  Target target = AnyTarget();
  target.access.mode = kWrite;
  Clauses clauses{{target.access}, LabelAndEnd()};
  EmitOn(lane, OpKind::kMemset, word.text, clauses).flags =
      word.text == "memset" ? kBlocking : kNoFlags;
}

void Parser::Record(const Token& lane) {
  at_.Take();
  EventId event = UseEvent(at_.Name("an event"), true);
  bool external = External(lane);
  Clauses clauses{{}, LabelAndEnd()};
  if (capture_ && !external) capture_->events.insert(event);
  if (capture_ && external) capture_->events.erase(event);  // its newest record is outside now
  Op& op = EmitOn(lane, OpKind::kEventRecord, "record", clauses);
  op.object = event;
  op.flags = external ? kExternal : kNoFlags;
}

void Parser::Wait(const Token& lane) {
  at_.Take();
  Token name = at_.Name("an event, a stream or a context");
  if (!at_.Sees("@") && FindStream(name.text)) return WaitForStream(lane, name);
  EventId event = UseEvent(name);
  bool external = External(lane);
  Clauses clauses{{}, LabelAndEnd()};
  CaptureWait(lane, name, event, external);
  Op& op = EmitOn(lane, OpKind::kStreamWaitEvent, "wait", clauses);
  op.object = event;
  op.flags = external ? kExternal : kNoFlags;
}

bool Parser::External(const Token& lane) {
  return UseStream(lane).type != StreamType::kContext && at_.Accept("external");
}

void Parser::WaitStream(const Token& lane) {
  at_.Take();
  WaitForStream(lane, StreamOrContextName());
}

void Parser::WaitForStream(const Token& lane, const Token& producer) {
  if (!Captured(producer)) RefuseUncaptured(lane);
  RefuseUncaptured(producer);  // the record is a line of the producer
  if (capture_) capture_->lanes.insert(CaptureLane(UseStream(lane)));
  Clauses clauses{{}, LabelAndEnd()};
  EventId event = next_event_++;
  EmitOn(producer, OpKind::kEventRecord, "record", Clauses()).object = event;
  Op& op = EmitOn(lane, OpKind::kStreamWaitEvent, "wait_stream", clauses);
  op.object = event;
  op.aux = UseStream(producer).id;
}

uint32_t Parser::FlagId(uint32_t rank, const std::string& name) {
  auto& names = file_.program.flag_names;
  auto [entry, fresh] = flags_.try_emplace({rank, name}, static_cast<uint32_t>(names.size()));
  if (fresh) names.push_back(name);
  return entry->second;
}

void Parser::Signal(const Token& lane) { SignalOrAwait(lane, OpKind::kSignal); }
void Parser::Await(const Token& lane) { SignalOrAwait(lane, OpKind::kAwait); }

void Parser::SignalOrAwait(const Token& lane, OpKind kind) {
  Token word = at_.Take();
  Token flag = at_.Name("a flag");
  RefuseOtherKind(flag, "a flag", Scope());
  uint64_t value = at_.Number("a value of the flag", UINT64_MAX);
  std::optional<uint32_t> rank;
  uint16_t flags = 0;
  Clauses clauses;
  while (!at_.AtEnd()) {
    if (!rank && at_.Accept("rank")) {
      const Token number = at_.Peek();
      rank = RankNumber();
      ranks_named_.push_back({number, *rank});
    } else if (kind == OpKind::kSignal && flags == 0 && at_.Accept("no_barrier")) {
      flags = kNoBarrier;
    } else if (!AsClause(clauses)) {
      Refuse(at_.Peek(), kind == OpKind::kSignal ? "'rank', 'no_barrier' or 'as', each once"
                                                 : "'rank' or 'as', each once");
    }
  }
  Need(11, word.text);
  Op& op = EmitOn(lane, kind, word.text, clauses);
  op.aux = rank.value_or(Scope().rank);
  op.object = FlagId(op.aux, flag.text);
  op.value = value;
  op.flags = flags;
}

void Parser::Launch(const Token& lane) {
  at_.Take();
  Token name = at_.Name("a graph captured above");
  auto graph = Scope().graphs.find(name.text);
  if (graph == Scope().graphs.end()) Refuse(name, "a graph captured above", WhatItIs(name));
  Clauses clauses{{}, LabelAndEnd()};
  EmitOn(lane, OpKind::kGraphLaunch, "launch", clauses).object = graph->second;
}

}  // namespace ss::litmus
