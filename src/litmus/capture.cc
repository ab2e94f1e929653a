// What a capture forbids: its lines build a graph, so nothing in them may depend on a run.
#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {

void Parser::BeginCapture() {
  Token name = at_.Name("a name for the graph");
  if (capture_) {
    Refuse(name, fmt::format("'end' first: {} is being captured since line {}",
                             Quoted(capture_->name), capture_->name.line));
  }
  RefuseUsedLane(name);
  at_.Expect("on");
  Token lane = StreamName();
  const Stream& stream = UseStream(lane);
  if (stream.type == StreamType::kLegacy)
    Refuse(lane, "a stream that can be captured", "the legacy stream cannot");
  at_.ExpectEnd();
  auto& graphs = file_.program.graph_names;
  capture_ = Capture{name, static_cast<uint32_t>(graphs.size()), {CaptureLane(stream)}, {}};
  Scope().graphs[name.text] = capture_->graph;
  graphs.push_back(name.text);
  Need(14, "capture");
  Op& op = Emit(OpKind::kCaptureBegin, "capture");
  op.stream = stream.id;
  op.object = capture_->graph;
}

void Parser::EndCapture() {
  if (!capture_) Refuse(at_.Previous(), "a statement; 'end' closes a 'capture', and none is open");
  at_.ExpectEnd();
  Emit(OpKind::kCaptureEnd, "end").object = capture_->graph;
  capture_.reset();
}

void Parser::RefuseInCapture(const Token& what, const std::string& why) {
  if (!capture_) return;
  Refuse(what,
         fmt::format("a line that can be captured, or 'end' of {} first", Quoted(capture_->name)),
         why);
}

// Several host threads' lanes hide behind one per-thread stream; only the capturing thread's is
// captured.
std::pair<StreamId, HostId> Parser::CaptureLane(const Stream& stream) const {
  return {stream.id, stream.type == StreamType::kPerThread ? host_ : HostId{0}};
}

bool Parser::Captured(const Token& lane) {
  return !capture_ || capture_->lanes.count(CaptureLane(UseStream(lane)));
}

void Parser::RefuseUncaptured(const Token& lane) {
  if (Captured(lane)) return;
  Refuse(lane,
         fmt::format(
             "a stream that is captured, or has waited for one that is: {} is open since line {}",
             Quoted(capture_->name), capture_->name.line));
}

// A wait inside joins its stream to the capture, where the event's newest record is inside.
void Parser::CaptureWait(const Token& lane, const Token& event, EventId id, bool external) {
  if (!capture_) return;
  if (external) return RefuseUncaptured(lane);
  if (!capture_->events.count(id)) {
    RefuseUncaptured(lane);
    Refuse(event, "an event recorded in this capture, or 'external' behind it");
  }
  capture_->lanes.insert(CaptureLane(UseStream(lane)));
}

}  // namespace ss::litmus
