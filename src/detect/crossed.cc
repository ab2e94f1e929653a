// Accesses where signals and other ranks order operations against the order of issue (rules 11 and
// 23): what is issued later may come before what was issued earlier, and be in no order with what
// that one replaced. So nothing is forgotten for having been replaced, unless what replaced it
// comes after nothing that is issued later.
#include <algorithm>

#include "src/detect/checker.h"

namespace ss {
namespace {

// Replaced entries of one cell that are kept, where they are (Cell::past).
constexpr size_t kMaxPast = 4096;

}  // namespace

// The operation that was issued first waited for this one: ordered, against the order of issue.
bool Checker::Reversed(const Entry& first, const Entry& second) const {
  return order_.before() != nullptr && KnewAtStart(first, second);
}

// Of a walk after the first one: did `entry` start after `other` was over?
bool Checker::KnewAtStart(const Entry& entry, const Entry& other) const {
  const CrossClocks& before = *order_.before();
  return entry.apart ? before.SourceKnew(entry.index, other.lane, other.epoch)
                     : before.Knew(entry.index, other.lane, other.epoch);
}

// Of a freed block: that the second one comes after the free is what is wrong then, and is judged
// as such. The first one was over at the free or comes after it, too.
bool Checker::LateUsesAlone(const Tenant& freed, const Entry& first, const Entry& second) const {
  const bool after = first.index > freed.free_index;
  if (after) return !KnewAtFree(freed, first.lane, first.epoch);
  const bool gone = freed.kind != MemoryKind::kCaching;  // there is nothing left to race for
  if (!gone && freed.over.Get(first.lane) < first.epoch) return false;
  return !KnewAtFree(freed, second.lane, second.epoch);
}

// What is issued after a free may come before it.
bool Checker::KnewAtFree(const Tenant& freed, LaneId lane, uint64_t epoch) const {
  const CrossClocks* before = order_.before();
  return before != nullptr && before->Knew(freed.free_index, lane, epoch);
}

// Writes that are settled and come before the access, or are judged as late uses as it is: they
// stand for what they replaced.
std::vector<Entry> Checker::Hiding(Cell& cell, const Entry& entry, const Step& step) {
  std::vector<Entry> hiding;
  const bool late = cell.tenant != nullptr && cell.tenant->freed;
  auto look = [&](const Entry& first) {
    if (!(first.mode & kWrite) || Reversed(first, entry)) return;
    const bool knows = step.Knows(first.lane, first.epoch);
    if (first.done || (late && !knows && LateUsesAlone(*cell.tenant, first, entry))) {
      hiding.push_back(first);
    }
  };
  if (cell.write) look(cell.write);
  cell.ForEachSince(look);
  cell.ForEachPast(look);
  return hiding;
}

// Of plain memory nothing was said of what met after its free, so nothing stands for it.
bool Checker::Hides(const Cell& cell, const Entry& hiding, const Entry& first) const {
  if (first.index >= hiding.index || Reversed(first, hiding)) return false;
  const bool gone =
      cell.tenant != nullptr && cell.tenant->freed && cell.tenant->kind != MemoryKind::kCaching;
  return !gone || KnewAtStart(hiding, first);
}

void Checker::TouchCrossed(uint64_t begin, Cell& cell, const Entry& entry, const Step& step) {
  const bool late = cell.tenant != nullptr && cell.tenant->freed;
  const std::vector<Entry> hiding = Hiding(cell, entry, step);
  bool reversed = false;
  auto check = [&](const Entry& first) {
    if (first.done || step.Knows(first.lane, first.epoch) || first.index == entry.index) return;
    if (Reversed(first, entry)) {
      reversed = true;
      return;
    }
    if (late && LateUsesAlone(*cell.tenant, first, entry)) return;
    const bool hidden = std::any_of(hiding.begin(), hiding.end(),
                                    [&](const Entry& later) { return Hides(cell, later, first); });
    if (!hidden && Conflicts(first.mode, entry.mode)) Collect(first, entry, cell, begin);
  };
  if (cell.write) check(cell.write);
  cell.ForEachSince(check);
  cell.ForEachPast(check);
  KeepAll(cell, entry, reversed);
}

// Of the operation that is being fed: does it come after nothing that is issued later? Then what is
// issued later either comes after it, and after all that it came after, or is in no order with it.
bool Checker::InIssueOrder(size_t index) {
  if (in_issue_order_.index == index) return in_issue_order_.holds;
  const Clock* start = order_.before()->Start(index);
  const auto& lanes = order_.lanes();
  bool holds = start != nullptr;
  for (LaneId lane = 1; holds && lane < start->size(); ++lane) {
    holds = lane < lanes.size() ? start->Get(lane) <= lanes[lane].epoch : start->Get(lane) == 0;
  }
  in_issue_order_ = {index, holds};
  return holds;
}

void Checker::KeepAll(Cell& cell, const Entry& entry, bool reversed) {
  const bool late = cell.tenant != nullptr && cell.tenant->freed;
  const bool stands = !late && InIssueOrder(entry.index);
  auto keep = [&](const Entry& older) {
    const bool known = stands && KnewAtStart(entry, older);
    if (older && !known) AddPast(cell, older);
  };
  if (stands && entry.Replaces()) DropKnown(cell, entry);
  if (reversed || !entry.Replaces()) {
    const Cell::Displaced displaced = cell.AddSince(entry);
    if (!displaced.for_room) return keep(displaced.entry);
    return AddPast(cell, displaced.entry);  // it touched other bytes
  }
  keep(cell.write);
  cell.ForEachSince(keep);
  cell.write = entry;
  cell.ClearSince();
}

// Replaced ones that are over for all that is issued from now on, unless `entry` is reported. One
// that stands for what it replaced is needed as long as any of that is there.
void Checker::DropKnown(Cell& cell, const Entry& entry) {
  if (!cell.past) return;
  auto known = [&](const Entry& older) { return KnewAtStart(entry, older); };
  uint64_t oldest = UINT64_MAX;
  auto look = [&](const Entry& older) {
    if (!known(older)) oldest = std::min(oldest, older.index);
  };
  if (cell.write) look(cell.write);
  cell.ForEachSince(look);
  cell.ForEachPast(look);
  std::erase_if(*cell.past, [&](const Entry& older) {
    return known(older) && (!older.done || older.index < oldest);
  });
}

void Checker::AddPast(Cell& cell, const Entry& entry) {
  if (!cell.past) cell.past = std::make_unique<std::vector<Entry>>();
  std::vector<Entry>& past = *cell.past;
  if (past.size() >= kMaxPast && options_.recorded) {
    std::erase_if(past, [&](const Entry& one) { return order_.AllKnow(one.lane, one.epoch); });
  }
  if (past.size() >= kMaxPast) {
    past.erase(past.begin());
    ++forgotten_;
  }
  past.push_back(entry);
}

}  // namespace ss
