// Contexts, green ones among them, and events over a whole context (rule 15).
#include <algorithm>

#include "src/model/order.h"
#include "src/model/rules.h"

namespace ss {

bool Context::Includes(const Stream& stream) const {
  return stream.home == this || stream.home->primary == this;
}

// Of the stream that `op` creates.
Context* Order::HomeOf(const Op& op) {
  const uint64_t rank = op.value >> 32 << 16;
  Context& home = contexts_[op.value >> 16];
  if (op.object == 0) return &home;
  Context& primary = contexts_[(op.object - 1) | rank];
  if (!RuleOn(Rule::kGreenApart)) return &primary;
  if (RuleOn(Rule::kGreenInPrimary)) home.primary = &primary;
  return &home;
}

// What a context was made to wait for holds up whatever its streams do next. Every operation asks:
// nearly always there is nothing.
void Order::JoinContext(Stream& stream) {
  uint64_t version = 0;
  ForEachWait(stream, [&](const Stream& whole) { version += whole.version; });
  if (version == stream.joined_context_version) return;
  ForEachWait(stream, [&](const Stream& whole) { JoinInto(stream, whole); });
  stream.joined_context_version = version;
}

// All that was queued in the context. No barrier: its streams learn nothing of each other by it.
void Order::RecordContext(const Stream& whole, const Host& host, Snapshot* snapshot) const {
  if (!RuleOn(Rule::kContextRecord)) return;
  auto covered = std::make_shared<Clock>();
  WithImplicit(whole, covered.get());
  covered->Join(host.clock);
  for (const auto& [key, stream] : streams_) {
    if (!whole.home->Includes(*stream)) continue;
    covered->Join(*stream->base);
    covered->Raise(stream->lane, stream->epoch);
  }
  snapshot->base = std::move(covered);
}

}  // namespace ss
