// Advice: what is no hazard, and worth knowing: wait-unrecorded, redundant-wait,
// record-stream-noop, redundant-record-stream, implicit-sync, alloc-unordered.

#include "src/detect/checker.h"
#include "src/model/rules.h"

namespace ss {

// Counts it, if it was given at the same place before: nothing more has to be said then. Otherwise
// Advise() must follow. In a running program the same advice comes up in every step, so no words
// are made for it.
bool Checker::AdvisedBefore(const char* code, uint64_t subject, const Op& op) {
  uint64_t key = SiteHash(op) * 0x9e3779b97f4a7c15ull;
  key = (key ^ subject ^ std::hash<std::string_view>{}(code)) * 0xff51afd7ed558ccdull;
  auto [found, fresh] = advice_by_key_.emplace(key, advice_.size());
  if (!fresh) ++advice_[found->second].count;
  return !fresh;
}

void Checker::Advise(const char* code, const std::string& subject, std::vector<std::string> aliases,
                     std::string text, const Op& op, size_t index) {
  Advice& advice = advice_.emplace_back();
  advice.code = code;
  advice.subject = subject;
  advice.aliases = std::move(aliases);
  advice.text = std::move(text);
  advice.site = MakeSite(op, index);
}

void Checker::AdviseOnWait(const Op& op, size_t index) {
  const bool unknown = (op.flags & kForeign) && order_.last_wait_unrecorded();
  if ((op.flags & kSynthetic) || unknown) return;
  const std::string& event = EventName(op.object);
  auto hash = std::hash<std::string_view>{};
  if (order_.last_wait_unrecorded() && RuleOn(Rule::kUnrecordedWait)) {
    if (AdvisedBefore("wait-unrecorded", hash(event), op)) return;
    Advise("wait-unrecorded", event, {}, "the event was never recorded: this orders nothing", op,
           index);
    return;
  }
  if (op.kind != OpKind::kStreamWaitEvent || !order_.last_wait_redundant()) return;
  const Event* record = order_.FindEvent(op.object);
  std::string producer = record == nullptr ? "" : StreamName(record->producer, op.host);
  std::string waiter = StreamName(op.stream, op.host);
  bool named = op.aux == 0 && !event.empty();
  // Where the call stack tells the place, unnamed producers that come and go are one subject.
  uint64_t subject = named ? hash(event) : op.stack != 0 ? 0 : hash(producer);
  if (AdvisedBefore("redundant-wait", subject, op)) return;
  Advise("redundant-wait", named ? event : producer, {event, producer, waiter},
         waiter + " already comes after everything that this wait covers", op, index);
}

void Checker::AdviseOnAwait(const Op& op, size_t index) {
  // Kernels and the CPU of a recorded program may write the value, too.
  if (!order_.last_await_never() || options_.recorded) return;
  const auto& names = program_.flag_names;
  std::string flag = op.object < names.size() ? names[op.object] : "";
  if (AdvisedBefore("await-never", std::hash<std::string_view>{}(flag), op)) return;
  Advise("await-never", flag, {StreamName(op.stream, op.host)},
         "no signal can release this wait: there is none, or each comes after it or is overwritten "
         "before it",
         op, index);
}

void Checker::AdviseImplicitSync(const Tenant& tenant, const Op& op, size_t index,
                                 const char* what) {
  if (tenant.is_private || AdvisedBefore("implicit-sync", SubjectHash(tenant), op)) return;
  Advise("implicit-sync", BufferName(tenant), {},
         std::string(what) + " only through a synchronisation that CUDA does not promise", op,
         index);
}

// A recorded stream is needed iff without it some use is not covered. In a recorded program a
// stream whose use of the block was not seen is left alone: its kernels may be unresolved.
void Checker::AdviseRedundantRecords(Tenant& tenant, const Clock& owner, const Clock& known) {
  for (size_t i = 0; i < tenant.recorded.size(); ++i) {
    const auto& record = tenant.recorded[i];
    if (record.op.flags & kAllocatorInternal) continue;
    Clock without = known;
    without.Join(owner);
    for (const auto& other : tenant.recorded) {
      if (other.stream != record.stream) order_.AddFrontier(other.stream, other.host, &without);
    }
    const Stream* stream = order_.FindStream(record.stream, record.host);
    bool seen = false, needed = false;
    shadow_.ForEach(tenant.begin, tenant.end, [&](uint64_t, Cell& cell) {
      auto look = [&](const Entry& entry) {
        seen |= stream != nullptr && entry.lane == stream->lane;
        needed |= entry.index > tenant.alloc_index && without.Get(entry.lane) < entry.epoch;
      };
      if (cell.tenant != &tenant) return;
      if (cell.write) look(cell.write);
      cell.ForEachSince(look);
    });
    if (needed || (options_.recorded && !seen)) continue;
    if (AdvisedBefore("redundant-record-stream", SubjectHash(tenant), record.op)) continue;
    Advise("redundant-record-stream", BufferName(tenant), {},
           StreamName(record.stream, record.host) + "'s uses are over without it", record.op,
           record.index);
  }
}

}  // namespace ss
