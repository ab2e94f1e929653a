#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {

void Parser::Sync() {
  RefuseInCapture(at_.Previous(), "the work being captured does not run yet");
  Token name = at_.Name("a stream, a context, an event or 'device'");
  if (name.text == "device") {
    return SyncDevice(at_.AtEnd() || at_.Sees("as") ? 0 : DeviceNumber(), 0);
  }
  const Stream* stream = at_.Sees("@") ? nullptr : FindStream(name.text);
  if (stream && stream->type == StreamType::kContext)
    return SyncDevice(stream->device, stream->context + 1);
  EventId event = stream ? 0 : UseEvent(name);
  StringId label = LabelAndEnd();
  Op& op = Emit(stream ? OpKind::kStreamSync : OpKind::kEventSync, "sync");
  op.stream = stream ? stream->id : 0;
  op.object = event;
  op.label = label;
}

void Parser::SyncDevice(uint32_t device, uint32_t context) {
  StringId label = LabelAndEnd();
  Op& op = Emit(OpKind::kDeviceSync, "sync");
  op.aux = device;
  op.value = Scope().rank;
  op.object = context;
  op.label = label;
}

void Parser::Query() {
  RefuseInCapture(at_.Previous(), "the work being captured does not run yet");
  Token name = at_.Name("a stream or an event");
  const Stream* stream = at_.Sees("@") ? nullptr : FindStream(name.text);
  if (stream && stream->type == StreamType::kContext)
    Refuse(name, "a stream or an event", WhatItIs(name));
  EventId event = stream ? 0 : UseEvent(name);
  bool not_ready = at_.Sees("notready");
  if (!not_ready && !at_.Sees("done")) Refuse(at_.Peek(), "'done' or 'notready'");
  at_.Take();
  StringId label = LabelAndEnd();
  Op& op = Emit(stream ? OpKind::kStreamQuery : OpKind::kEventQuery, "query");
  op.stream = stream ? stream->id : 0;
  op.object = event;
  op.flags = not_ready ? kNotReady : kNoFlags;
  op.label = label;
}

void Parser::Handoff() {
  HostId giver = UseHost(at_.Name("a host thread"));
  const Token name = at_.Name("the host thread that continues");
  HostId taker = UseHost(name);
  if (taker == giver) Refuse(name, "another host thread");
  StringId label = LabelAndEnd();
  host_ = giver;
  Op& op = Emit(OpKind::kHandoff, "handoff");
  op.object = taker;
  op.label = label;
}

// The first `read` or `write` has been taken as the statement's word.
void Parser::HostAccess() {
  Clauses clauses;
  std::string word = at_.Previous().text;
  AccessList(word == "read" ? kRead : kWrite, kHostWords, clauses);
  while (!at_.AtEnd()) {
    if (!AccessClause(kHostWords, clauses) && !AsClause(clauses)) {
      Refuse(at_.Peek(), "'read', 'write' or 'as'");
    }
  }
  Emit(OpKind::kHostAccess, word, clauses.accesses).label = clauses.label;
}

}  // namespace ss::litmus
