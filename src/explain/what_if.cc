#include "src/explain/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <unordered_map>

#include "src/explain/ablate.h"
#include "src/explain/critical_path.h"
#include "src/explain/verify.h"
#include "src/explain/window.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

bool ParseOp(std::string_view text, OpId* op) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *op);
  return error == std::errc() && end == text.data() + text.size() && *op != 0;
}

class Editor {
 public:
  Editor(const Tape& tape, const CheckOptions& check)
      : tape_(tape), check_(check), names_(tape), event_(FirstFreeEvent(tape)) {
    for (size_t i = 0; i < tape.ops->size(); ++i) index_.try_emplace(At(i).id, i);
  }

  Result<std::string> Apply(const EdgeRequest& request) {
    switch (request.kind) {
      case EdgeRequest::Kind::kOrder:
        return Order(request);
      case EdgeRequest::Kind::kRecordStream:
        return RecordStream(request);
      case EdgeRequest::Kind::kFirstFixes:
        return FirstFixes();
      default:
        return Remove(request);
    }
  }

  const Edit& edit() {
    Sort(&edit_);
    return edit_;
  }

 private:
  using Place = std::tuple<OpKind, StringId, StackId, uint32_t, StreamId>;

  const Op& At(size_t index) const { return (*tape_.ops)[index]; }

  // Without a stack or a line, what runs on one stream under one name is taken to be one place.
  Place PlaceOf(const Op& op) const {
    const bool known = op.stack != 0 || op.line != 0;
    return {op.kind, op.name, op.stack, op.line, known ? 0 : op.stream};
  }

  Result<size_t> Find(OpId op, const EdgeRequest& request) const {
    auto found = index_.find(op);
    if (found != index_.end()) return found->second;
    return Fail(request.text, fmt::format("there is no operation {}", op),
                "numbers are those of the report (op N)");
  }

  static bool OnStream(const Op& op) {
    return op.stream != 0 && op.kind != OpKind::kAlloc && op.kind != OpKind::kFree &&
           op.kind != OpKind::kRecordStream && op.kind != OpKind::kStreamSync &&
           op.kind != OpKind::kHostAccess;
  }

  Result<std::string> Order(const EdgeRequest& request) {
    Result<size_t> from = Find(request.from, request), to = Find(request.to, request);
    if (!from) return tl::unexpected(from.error());
    if (!to) return tl::unexpected(to.error());
    if (*from >= *to) {
      return Fail(request.text, "the first operation is issued after the second",
                  "an edge leads from an earlier operation to a later one");
    }
    const bool same_stream =
        OnStream(At(*from)) && OnStream(At(*to)) && At(*from).stream == At(*to).stream;
    const bool same_host = !OnStream(At(*from)) && At(*from).host == At(*to).host;
    if (same_stream || same_host)
      return Fail(request.text, "they are ordered: one stream or one thread",
                  "name two operations between which an order is missing");
    size_t places = 0;
    size_t last = SIZE_MAX;
    for (size_t i = *from; i < tape_.ops->size(); ++i) {
      const bool first = request.once ? i == *from : PlaceOf(At(i)) == PlaceOf(At(*from));
      const bool second = request.once ? i == *to : PlaceOf(At(i)) == PlaceOf(At(*to));
      if (first) last = i;
      if (!second || last == SIZE_MAX || last == i) continue;
      Insert(last, i);
      ++places;
    }
    return fmt::format("op {} starts after op {}, at {} place{}", request.to, request.from, places,
                       places == 1 ? "" : "s");
  }

  void Insert(size_t from, size_t to) {
    const Op &first = At(from), &second = At(to);
    if (!OnStream(first)) {
      edit_.insertions.push_back(
          {to, {.kind = OpKind::kHandoff, .host = first.host, .object = second.host}});
      return;
    }
    edit_.insertions.push_back({from + 1,
                                {.kind = OpKind::kEventRecord,
                                 .host = first.host,
                                 .stream = first.stream,
                                 .object = event_}});
    if (OnStream(second)) {
      edit_.insertions.push_back({to,
                                  {.kind = OpKind::kStreamWaitEvent,
                                   .host = second.host,
                                   .stream = second.stream,
                                   .object = event_}});
    } else {
      edit_.insertions.push_back(
          {to, {.kind = OpKind::kEventSync, .host = second.host, .object = event_}});
    }
    ++event_;
  }

  Result<std::string> RecordStream(const EdgeRequest& request) {
    StreamId stream = 0;
    std::unordered_map<BufferId, StringId> names;
    size_t frees = 0;
    for (const Op& op : *tape_.ops) {
      if (op.kind == OpKind::kStreamCreate && names_.Stream(op.stream) == request.stream)
        stream = op.stream;
    }
    if (stream == 0)
      return Fail(request.text, fmt::format("there is no stream '{}'", request.stream),
                  "streams are called as in the report");
    for (size_t i = 0; i < tape_.ops->size(); ++i) {
      const Op& op = At(i);
      if (op.kind == OpKind::kAlloc || op.kind == OpKind::kBufferName) names[op.object] = op.name;
      if (op.kind != OpKind::kFree) continue;
      if (BufferLabel(tape_.names->strings, names[op.object], op.object) != request.buffer)
        continue;
      edit_.insertions.push_back({i,
                                  {.kind = OpKind::kRecordStream,
                                   .host = op.host,
                                   .stream = stream,
                                   .object = op.object}});
      ++frees;
    }
    if (frees == 0)
      return Fail(request.text, fmt::format("no buffer '{}' is freed", request.buffer),
                  "buffers are called as in the report of a lifetime hazard");
    return fmt::format("record_stream({}, {}), before {} free{}", request.buffer, request.stream,
                       frees, frees == 1 ? "" : "s");
  }

  Result<std::string> Remove(const EdgeRequest& request) {
    Result<size_t> at = Find(request.to, request);
    if (!at) return tl::unexpected(at.error());
    const std::vector<Wait> waits = FindWaits(tape_);
    auto asked = std::find_if(waits.begin(), waits.end(),
                              [&](const Wait& wait) { return wait.index == *at; });
    if (asked == waits.end()) {
      return Fail(request.text,
                  fmt::format("operation {} is {}, not a wait", request.to, Name(At(*at).kind)),
                  "streamsan ablate lists the waits");
    }
    size_t gone = 0;
    for (const Wait& wait : waits) {
      const bool same =
          wait.kind == asked->kind && wait.stack == asked->stack && wait.line == asked->line;
      if (wait.index != *at && (request.once || !same)) continue;
      TakeOut(tape_, wait.index, &edit_);
      ++gone;
    }
    return fmt::format("without: {} (op {}), {} wait{}", asked->text, request.to, gone,
                       gone == 1 ? "" : "s");
  }

  Result<std::string> FirstFixes() {
    CheckResult result = Replay(tape_, check_, {});
    Verifier verifier(tape_, check_, result, UINT64_MAX);
    std::string text;
    for (size_t i = 0; i < result.findings.size(); ++i) {
      Finding& finding = result.findings[i];
      if (finding.absorbed) continue;
      std::optional<Edit> edit = verifier.AddFixes(&finding, result.keys[i]);
      if (!edit) continue;
      Join(*edit);
      text += (text.empty() ? "" : "; ") + finding.fixes.front().text;
    }
    return text.empty() ? "no hazard has a verified fix" : text;
  }

  // Two changes may move one operation: a free goes to the later place, all else to the earlier.
  void JoinOne(const Edit::Insertion& one) {
    auto& all = edit_.insertions;
    auto same = std::find_if(all.begin(), all.end(), [&](const Edit::Insertion& other) {
      return one.op.id != 0 && other.op.id == one.op.id;
    });
    if (same != all.end()) {
      const bool is_free = one.op.kind == OpKind::kFree || one.op.kind == OpKind::kFreeAsync;
      if (is_free ? one.before < same->before : one.before > same->before) return;
      all.erase(same);
    }
    all.push_back(one);
  }

  void Join(const Edit& edit) {
    for (const Edit::Insertion& one : edit.insertions) {
      const bool event = one.op.kind == OpKind::kEventRecord;
      if (event) event_ = std::max(event_, one.op.object + 1);
    }
    for (const Edit::Insertion& one : edit.insertions) JoinOne(one);
    edit_.removals.insert(edit.removals.begin(), edit.removals.end());
    edit_.flags.insert(edit_.flags.end(), edit.flags.begin(), edit.flags.end());
  }

  const Tape& tape_;
  const CheckOptions& check_;
  const LaneNames names_;
  EventId event_;
  std::unordered_map<OpId, size_t> index_;
  Edit edit_;
};

std::map<std::string, Finding> Reported(CheckResult result, Confidence least) {
  std::map<std::string, Finding> findings;
  for (size_t i = 0; i < result.findings.size(); ++i) {
    Finding& finding = result.findings[i];
    if (!finding.absorbed && finding.confidence >= least)
      findings.emplace(result.keys[i], std::move(finding));
  }
  return findings;
}

}  // namespace

Result<EdgeRequest> ParseAddition(const std::string& text) {
  EdgeRequest request;
  request.text = text;
  const size_t colon = text.find(':');
  const std::string first = text.substr(0, colon),
                    rest = colon == text.npos ? "" : text.substr(colon + 1);
  if (first == "record_stream" && rest.find(':') != rest.npos) {
    request.kind = EdgeRequest::Kind::kRecordStream;
    request.buffer = rest.substr(0, rest.rfind(':'));
    request.stream = rest.substr(rest.rfind(':') + 1);
    if (!request.buffer.empty() && !request.stream.empty()) return request;
  } else if (ParseOp(first, &request.from) && ParseOp(rest, &request.to)) {
    request.kind = EdgeRequest::Kind::kOrder;
    return request;
  }
  return Fail("--add",
              fmt::format("found '{}', expected FROM:TO or record_stream:BUFFER:STREAM", text),
              "FROM and TO are operation numbers of the report");
}

Result<EdgeRequest> ParseRemoval(const std::string& text) {
  EdgeRequest request;
  request.text = text;
  request.kind = EdgeRequest::Kind::kRemove;
  if (ParseOp(text, &request.to)) return request;
  return Fail("--remove", fmt::format("found '{}', expected the number of a wait", text),
              "streamsan ablate --format json lists them");
}

Result<WhatIf> TryEdges(const Tape& tape, const CheckOptions& check,
                        const std::vector<EdgeRequest>& edges, Confidence least) {
  Editor editor(tape, check);
  WhatIf out;
  for (const EdgeRequest& edge : edges) {
    Result<std::string> done = editor.Apply(edge);
    if (!done) return tl::unexpected(done.error());
    out.changes.push_back(std::move(*done));
  }
  std::map<std::string, Finding> before = Reported(Replay(tape, check, {}), least),
                                 after = Reported(Replay(tape, check, editor.edit()), least);
  for (auto& [key, finding] : before) {
    if (after.count(key) == 0) out.gone.push_back(std::move(finding));
  }
  for (auto& [key, finding] : after) {
    (before.count(key) != 0 ? out.stay : out.fresh).push_back(std::move(finding));
  }
  out.edit = editor.edit();
  out.path_before = CriticalPath(tape, {}).length;
  out.path_after = CriticalPath(tape, editor.edit()).length;
  const LaneNames names(tape);
  for (std::vector<Finding>* findings : {&out.gone, &out.fresh, &out.stay}) {
    for (Finding& finding : *findings) NameRanks(&finding, names);
  }
  return out;
}

}  // namespace ss
