#include "src/report/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/program/op_names.h"
#include "src/program/picture.h"
#include "src/report/coverage.h"
#include "src/report/drawn.h"
#include "src/report/proto.h"
#include "src/report/rows.h"
#include "src/report/story.h"
#include "src/report/words.h"

namespace ss {
namespace {

// Field numbers of protos/perfetto/trace.
namespace field {
constexpr uint32_t kPacket = 1;                                                    // Trace
constexpr uint32_t kTimestamp = 8, kSequence = 10, kEvent = 11, kDescriptor = 60;  // TracePacket
constexpr uint32_t kUuid = 1, kName = 2, kParent = 5, kProcess = 3;  // TrackDescriptor
constexpr uint32_t kOrdering = 11, kRank = 12, kCounter = 8;
constexpr uint32_t kPid = 1, kProcessName = 6;  // ProcessDescriptor
constexpr uint32_t kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22,
                   kEventName = 23;  // TrackEvent
constexpr uint32_t kCounterValue = 30, kFlow = 47, kFlowEnd = 48;
constexpr uint32_t kAnnotationText = 6, kAnnotationName = 10;  // DebugAnnotation
}  // namespace field

constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kValue = 4;  // TrackEvent.Type
constexpr uint64_t kExplicit = 3;                                   // ChildTracksOrdering
constexpr uint64_t kStep = 1000, kLength = 900;                     // nanoseconds an operation
constexpr uint64_t kSequenceId = 1;

class Printer {
 public:
  explicit Printer(const PrintInput& input) : input_(input) {}

  std::string Print() {
    uint32_t number = 0;
    for (const auto& picture : input_.report.pictures) One(*picture, ++number);
    return trace_.bytes();
  }

 private:
  // Tracks of one picture: a process with hazards first, then lanes, then memory.
  void One(const Picture& picture, uint32_t number) {
    base_ = uint64_t{number} << 32;
    ProtoMessage process;
    process.Number(field::kPid, input_.report.pid > 0 && number == 1
                                    ? static_cast<uint64_t>(input_.report.pid)
                                    : 1'000'000 + number);
    const std::string& program = picture.source.empty() ? input_.report.program : picture.source;
    const std::string rank = picture.rank < 0 ? "" : fmt::format("rank {}: ", picture.rank);
    process.Text(field::kProcessName, rank + program + " (order of issue, not time)");
    ProtoMessage root;
    root.Number(field::kUuid, base_);
    root.Message(field::kProcess, process);
    root.Number(field::kOrdering, kExplicit);
    Descriptor(root);
    Track(Hazards(), "hazards: missing edges", base_, 0);
    for (uint32_t lane = 0; lane < picture.lanes.size(); ++lane) {
      const Picture::Lane& one = picture.lanes[lane];
      Track(Lane(lane), one.name + " (" + one.kind + ")", base_, 1 + lane);
    }
    Counter(static_cast<uint32_t>(picture.lanes.size()) + 1);
    Operations(picture);
    Missing(picture);
    LiveBytes(picture);
  }

  uint64_t Hazards() const { return base_ + 1; }
  uint64_t Memory() const { return base_ + 2; }
  uint64_t Lane(uint32_t lane) const { return base_ + 16 + lane; }

  void Descriptor(const ProtoMessage& descriptor) {
    ProtoMessage packet;
    packet.Number(field::kSequence, kSequenceId);
    packet.Message(field::kDescriptor, descriptor);
    trace_.Message(field::kPacket, packet);
  }

  void Track(uint64_t uuid, const std::string& name, uint64_t parent, uint64_t rank) {
    ProtoMessage track;
    track.Number(field::kUuid, uuid);
    track.Text(field::kName, name);
    track.Number(field::kParent, parent);
    track.Number(field::kRank, rank);
    Descriptor(track);
  }

  void Counter(uint64_t rank) {
    ProtoMessage track;
    track.Number(field::kUuid, Memory());
    track.Text(field::kName, "bytes allocated");
    track.Number(field::kParent, base_);
    track.Number(field::kRank, rank);
    track.Message(field::kCounter, {});
    Descriptor(track);
  }

  void Event(uint64_t time, const ProtoMessage& event) {
    ProtoMessage packet;
    packet.Number(field::kTimestamp, time);
    packet.Number(field::kSequence, kSequenceId);
    packet.Message(field::kEvent, event);
    trace_.Message(field::kPacket, packet);
  }

  static ProtoMessage Start(uint64_t type, uint64_t track, const std::string& name,
                            const char* category) {
    ProtoMessage event;
    event.Number(field::kType, type);
    event.Number(field::kTrack, track);
    event.Text(field::kCategory, category);
    event.Text(field::kEventName, name);
    return event;
  }

  static void Annotate(ProtoMessage& event, const char* name, const std::string& text) {
    if (text.empty()) return;
    ProtoMessage note;
    note.Text(field::kAnnotationText, text);
    note.Text(field::kAnnotationName, name);
    event.Message(field::kAnnotation, note);
  }

  void Finish(uint64_t time, uint64_t track) {
    ProtoMessage event;
    event.Number(field::kType, kEnd);
    event.Number(field::kTrack, track);
    Event(time, event);
  }

  void Operations(const Picture& picture) {
    std::multimap<uint32_t, uint64_t> starts, ends;
    uint64_t flow = base_;
    for (const Picture::Edge& edge : picture.edges) {
      starts.emplace(edge.from, ++flow);
      ends.emplace(edge.to, flow);
    }
    for (uint32_t i = 0; i < picture.operations.size(); ++i) {
      const Picture::Operation& op = picture.operations[i];
      ProtoMessage event =
          Start(kBegin, Lane(op.lane), KernelText(picture.names[op.name]), Name(op.kind));
      for (auto [at, end] = starts.equal_range(i); at != end; ++at)
        event.Fixed64(field::kFlow, at->second);
      for (auto [at, end] = ends.equal_range(i); at != end; ++at)
        event.Fixed64(field::kFlowEnd, at->second);
      Annotate(event, "op", std::to_string(op.op));
      Annotate(event, "at", PlaceText(input_, picture.source, op.stack, op.line));
      Touches(picture, i, event);
      Event(i * kStep, event);
      Finish(i * kStep + kLength, Lane(op.lane));
    }
  }

  static void Touches(const Picture& picture, uint32_t position, ProtoMessage& event) {
    const size_t end = position + 1 < picture.operations.size()
                           ? picture.operations[position + 1].touch_begin
                           : picture.touches.size();
    for (size_t i = picture.operations[position].touch_begin; i < end; ++i) {
      const Picture::Touch& touch = picture.touches[i];
      const std::string mode = ModeName(touch.mode);
      Annotate(event, mode.c_str(),
               picture.names[picture.lives[touch.life].name] + RangeText(touch.begin, touch.end));
    }
  }

  // On the hazards' track a slice from the one operation to the other; on their own lanes a mark.
  void Missing(const Picture& picture) {
    for (const auto& hazard : input_.selection.hazards) {
      const Finding& finding = *hazard.finding;
      const MissingEdge edge = EdgeOf(finding);
      if (!IsDrawnOn(finding, picture) || edge.from == nullptr) continue;
      const uint32_t from = picture.PositionOf(edge.from->index),
                     to = picture.PositionOf(edge.to->index);
      if (from == Picture::kNone || to == Picture::kNone) continue;
      const std::string title =
          fmt::format("{} {} {}", hazard.alias, finding.code, finding.buffer.name);
      const uint64_t uuid =
          base_ + (uint64_t{1} << 31) + ++marks_;  // slices may overlap: a track each
      Track(uuid, title, Hazards(), marks_);
      ProtoMessage slice = Start(kBegin, uuid, title, "hazard");
      for (const Answer& answer : AnswersOf(input_, finding))
        Annotate(slice, answer.question.c_str(), answer.text);
      Annotate(slice, "id", hazard.id);
      Annotate(slice, "why", WhyText(finding));
      Event(std::min(from, to) * kStep, slice);
      Finish(std::max(from, to) * kStep + kLength, uuid);
      Event(from * kStep + 1, Start(kInstant, Lane(picture.operations[from].lane),
                                    title + ": the missing edge starts here", "hazard"));
      Event(to * kStep + 1,
            Start(kInstant, Lane(picture.operations[to].lane), title + ": too early", "hazard"));
    }
  }

  void LiveBytes(const Picture& picture) {
    std::map<uint32_t, int64_t> change;
    for (const Picture::Life& life : picture.lives) {
      if (life.born != Picture::kNone) change[life.born] += static_cast<int64_t>(life.bytes);
      if (life.died != Picture::kNone) change[life.died] -= static_cast<int64_t>(life.bytes);
    }
    int64_t bytes = 0;
    for (const auto& [position, by] : change) {
      bytes += by;
      ProtoMessage event;
      event.Number(field::kType, kValue);
      event.Number(field::kTrack, Memory());
      event.Number(field::kCounterValue, static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
      Event(position * kStep, event);
    }
  }

  const PrintInput& input_;
  ProtoMessage trace_;
  uint64_t base_ = 0, marks_ = 0;
};

}  // namespace

std::string PrintPerfetto(const PrintInput& input) { return Printer(input).Print(); }

}  // namespace ss
