#include "src/import/joint.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "src/import/tables.h"

namespace ss {
namespace {

constexpr uint32_t kHighIds = 0x80000000;  // of what launches of graphs make: they stay among those
constexpr int kRankShift = 48;
constexpr uint32_t kMaxRanks = 1 << 15;

// The ids of one kind in one process, as the joint program's.
class Ids {
 public:
  struct Next {
    uint32_t low = 1, high = kHighIds + 1;
  };
  explicit Ids(Next* next) : next_(next) {}

  uint32_t Get(uint32_t old) {
    if (old == 0) return 0;
    auto [at, fresh] = ids_.try_emplace(old, 0);
    if (fresh) at->second = old < kHighIds ? next_->low++ : next_->high++;
    return at->second;
  }
  void Set(uint32_t old, uint32_t id) { ids_[old] = id; }
  void Forget(uint32_t old) { ids_.erase(old); }

 private:
  Next* next_;
  std::unordered_map<uint32_t, uint32_t> ids_;
};

struct Range {
  uint64_t begin = 0, end = 0;
};

// A block that several processes use, with its owner's addresses. Memory that is mapped stays where
// others have it mapped when its owner unmaps it: from then on it has addresses of its own, and the
// end of the owner's mapping is judged by what the owner itself did, at addresses of its own, too.
struct SharedBlock {
  Range range;
  Range mapping;  // empty: not mapped, or to the end
  BufferId mapping_id = 0;
  Op alloc;  // its owner's
};

// A communicator of several of the processes.
struct Meeting {
  uint32_t id = 0;
  std::map<uint32_t, uint32_t> ranks;  // by member
};
using Meetings = std::map<std::pair<std::string, uint32_t>, Meeting>;  // by identity and size

struct Counters {
  Ids::Next streams, events, buffers, pools, tags, comms, graphs;
  DenseIds flags;  // by the joint program's addresses
  uint32_t hosts = 0;
  uint64_t free_address = uint64_t{kMaxRanks - 1} << kRankShift;  // no rank's

  Range TakeRange(uint64_t bytes) {
    free_address += bytes;
    return {free_address - bytes, free_address};
  }
};

bool Allocates(const Op& op) { return op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync; }
bool Frees(const Op& op) { return op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync; }
bool Unmaps(const Op& op) { return op.kind == OpKind::kFree && (op.flags & kNoBarrier) != 0; }
bool OnEvent(const Op& op) {
  return op.kind == OpKind::kEventRecord || op.kind == OpKind::kStreamWaitEvent ||
         op.kind == OpKind::kEventSync || op.kind == OpKind::kEventQuery ||
         op.kind == OpKind::kEventDestroy || (op.flags & kLaunchEvent);
}
bool OnBuffer(const Op& op) {
  return Allocates(op) || Frees(op) || op.kind == OpKind::kRecordStream ||
         op.kind == OpKind::kBufferName;
}
// Whose `aux` is the stream that launched their graph, or 0.
bool LauncherInAux(const Op& op) {
  return op.kind == OpKind::kKernel || op.kind == OpKind::kCopy || op.kind == OpKind::kMemset ||
         op.kind == OpKind::kHostFn || Frees(op) || op.kind == OpKind::kRecordStream;
}

uint64_t RankBits(uint32_t rank) { return uint64_t{rank} << kRankShift; }

// One process on its way into the joint program.
class Reader {
 public:
  Reader(const ProcessTape& tape, Counters* counters, Program* out)
      : tape_(tape),
        counters_(*counters),
        out_(*out),
        streams_(&counters->streams),
        events_(&counters->events),
        buffers_(&counters->buffers),
        pools_(&counters->pools),
        tags_(&counters->tags),
        comms_(&counters->comms),
        graphs_(&counters->graphs),
        flag_addresses_(tape.flags->size()) {
    for (const auto& [address, flag] : *tape.flags) flag_addresses_[flag] = address;
  }

  bool Done() const { return at_ == tape_.ops->size() && !WillEnd(); }
  // Of the next operation.
  uint64_t Now() {
    if (at_ == tape_.ops->size()) return tape_.ended_ns;
    while (time_ < tape_.times->size() && (*tape_.times)[time_].from <= at_) ++time_;
    return time_ == 0 ? 0 : (*tape_.times)[time_ - 1].ns;
  }

  void GivesEvent(uint32_t id) { shared_events_.insert(id); }
  void GivesBlock(BufferId id, SharedBlock* block) { given_[id] = block; }
  void OpensEvent(uint32_t id, uint32_t owners) {
    events_.Set(id, owners);
    shared_events_.insert(id);
    opened_events_.insert(id);
  }
  void Meets(uint32_t comm, const Meeting* meeting) {
    comms_.Set(comm + 1, meeting->id);
    meetings_[comm] = meeting;
  }
  void OpensBlock(BufferId id, SharedBlock* block) { opened_blocks_[id] = block; }
  uint32_t EventOf(uint32_t id) { return events_.Get(id); }

  void Take() {
    if (at_ == tape_.ops->size()) return EndWork();
    const Op& from = (*tape_.ops)[at_++];
    if (from.kind == OpKind::kEventDestroy && opened_events_.contains(from.object)) return;
    Op op = from;
    op.access_begin = static_cast<uint32_t>(out_.accesses.size());
    const Access* accesses = tape_.accesses->data() + from.access_begin;
    for (uint32_t i = 0; i < from.access_count; ++i) TakeAccess(from, accesses[i], &op);
    out_.accesses.insert(out_.accesses.end(), later_.begin(), later_.end());
    later_.clear();
    op.access_count = static_cast<uint32_t>(out_.accesses.size()) - op.access_begin;
    if (OnEvent(from) && shared_events_.contains(from.object)) {
      op.flags = (op.flags & ~kForeign) | kShared;
    }
    Rename(from, &op);
    if (from.kind == OpKind::kEventDestroy) events_.Forget(from.object);
    SharedBlock* mapped = Track(from, &op);
    out_.ops.push_back(op);
    if (mapped != nullptr) FollowMapping(from, *mapped);
  }

 private:
  bool WillEnd() const { return tape_.ended_ns != 0 && !over_ && at_ != 0; }

  void EndWork() {
    over_ = true;
    for (uint32_t device : devices_) {
      Op op;
      op.id = out_.ops.size() + 1;
      op.kind = OpKind::kDeviceSync;
      op.host = Host(tape_.ops->front().host);
      op.name = out_.strings.Intern("end of the process");
      op.aux = device;
      op.value = tape_.rank;
      out_.ops.push_back(op);
    }
  }

  // A block that was opened keeps its own place from its opening to its closing, and what uses it
  // is a use of its owner's. An access may reach over several: the first one keeps its place among
  // the operation's, the others come behind.
  void TakeAccess(const Op& op, Access access, Op* to) {
    if (access.shape != 0) TakeShape(&access);
    if (OnBuffer(op)) {
      auto last = LastBefore(own_, access.end);
      if (last != own_.end() && last->second.end > access.begin) to->flags |= kShared;
      return Put(InOwnPlace(access), true);
    }
    bool first = true;
    while (access.begin < access.end) {
      const Window* window = Find(windows_, access.begin);
      Access piece = access;
      piece.end = std::min(access.end, window != nullptr ? window->end : NextWindow(access.begin));
      if (access.shape != 0 && piece.end != access.end) {  // rows across: every byte is taken
        piece.shape = access.shape = 0;
        piece.extent = access.extent = Evidence::kAssumed;
      }
      access.begin = piece.end;
      window == nullptr ? TakeOwn(piece, first, to) : TakeOwners(*window, piece, first, to);
      first = false;
    }
  }

  void TakeOwn(const Access& access, bool first, Op* to) {
    Put(InOwnPlace(access), first);
    for (auto window = LastBefore(own_, access.end);
         window != own_.end() && window->second.end > access.begin;
         window = LastBefore(own_, window->first)) {
      to->flags |= kShared;
      const Range mapping = window->second.block->mapping;
      if (mapping.begin == mapping.end) continue;
      Access use = access;
      use.mode = kRead;
      use.shape = 0;
      use.begin = std::max(access.begin, window->first) - window->first + mapping.begin;
      use.end = std::min(access.end, window->second.end) - window->first + mapping.begin;
      later_.push_back(use);
    }
  }

  Access InOwnPlace(Access access) const {
    access.begin += RankBits(tape_.rank);
    access.end += RankBits(tape_.rank);
    return access;
  }
  void Put(const Access& access, bool first) { (first ? out_.accesses : later_).push_back(access); }

  void TakeShape(Access* access) {
    const std::optional<ShapeId> id = out_.shapes.Intern(tape_.shapes->Get(access->shape));
    if (!id) access->extent = Evidence::kAssumed;
    access->shape = id.value_or(0);
  }

  struct Window {
    uint64_t begin = 0, end = 0;
    SharedBlock* block = nullptr;
  };
  using Windows = std::map<uint64_t, Window>;  // by begin

  static const Window* Find(const Windows& windows, uint64_t address) {
    auto after = windows.upper_bound(address);
    if (after == windows.begin()) return nullptr;
    const Window& window = std::prev(after)->second;
    return address < window.end ? &window : nullptr;
  }
  static Windows::const_iterator LastBefore(const Windows& windows, uint64_t address) {
    auto after = windows.lower_bound(address);
    return after == windows.begin() ? windows.end() : std::prev(after);
  }

  uint64_t NextWindow(uint64_t address) const {
    auto next = windows_.upper_bound(address);
    return next == windows_.end() ? UINT64_MAX : next->first;
  }

  // Of what was opened: in its owner's place, and a use of what was opened, which must not be
  // closed before.
  void TakeOwners(const Window& window, Access access, bool first, Op* to) {
    to->flags |= kShared;
    Access use = InOwnPlace(access);
    use.mode = kRead;
    use.shape = 0;
    later_.push_back(use);
    const Range owners = window.block->range;
    access.end = std::min(access.end - window.begin + owners.begin, owners.end);
    access.begin = access.begin - window.begin + owners.begin;
    if (access.begin < access.end) Put(access, first);
  }

  // What is shared from here on, or no longer. Of this process's, where its mapping has an end.
  SharedBlock* Track(const Op& from, Op* op) {
    if (!Allocates(from) && !Frees(from)) return nullptr;
    const Access& range = (*tape_.accesses)[from.access_begin];
    auto opened = opened_blocks_.find(from.object);
    if (opened != opened_blocks_.end()) {
      Set(&windows_, range, Allocates(from), opened->second);
    }
    auto given = given_.find(from.object);
    if (given == given_.end()) return nullptr;
    SharedBlock* block = given->second;
    Set(&own_, range, Allocates(from), block);
    if (Allocates(from)) block->alloc = *op;
    if (Unmaps(from)) op->flags |= kImplicitEnd;
    return block->mapping.begin == block->mapping.end ? nullptr : block;
  }
  static void Set(Windows* windows, const Access& range, bool begins, SharedBlock* block) {
    windows->erase(range.begin);
    if (begins) (*windows)[range.begin] = {range.begin, range.end, block};
  }

  // Behind what its owner does to it.
  void FollowMapping(const Op& from, SharedBlock& block) {
    Op op = out_.ops.back();
    if (Allocates(from)) {
      block.mapping_id = counters_.buffers.low++;
      return Add(op, block.mapping_id, block.mapping);
    }
    op.flags = from.flags;
    Add(op, block.mapping_id, block.mapping);
    block.range = counters_.TakeRange(block.range.end - block.range.begin);
    Add(block.alloc, counters_.buffers.low++, block.range);
  }

  // One more like `op`, of another place.
  void Add(Op op, BufferId object, Range range) {
    Access access = out_.accesses[op.access_begin];
    access.begin = range.begin;
    access.end = range.end;
    op.id = out_.ops.size() + 1;
    op.object = object;
    op.access_begin = static_cast<uint32_t>(out_.accesses.size());
    out_.accesses.push_back(access);
    out_.ops.push_back(op);
  }

  // A member of a communicator, + 1, as a rank of the joint program.
  uint64_t Partner(uint32_t comm, uint32_t partner) const {
    constexpr uint32_t kNotHere = UINT32_MAX;
    auto meeting = meetings_.find(comm);
    if (partner == 0 || meeting == meetings_.end()) return partner;
    auto rank = meeting->second->ranks.find(partner - 1);
    return rank == meeting->second->ranks.end() ? kNotHere : rank->second + 1;
  }

  StringId String(StringId id) {
    if (id == 0) return 0;
    if (id >= strings_.size()) strings_.resize(tape_.strings->size(), 0);
    if (strings_[id] == 0) strings_[id] = out_.strings.Intern(tape_.strings->Get(id));
    return strings_[id];
  }

  HostId Host(HostId id) {
    constexpr uint32_t kMaxHosts = 0xFFFF;
    auto [at, fresh] = hosts_.try_emplace(id, HostId{0});
    if (fresh) at->second = static_cast<HostId>(std::min(counters_.hosts++, kMaxHosts - 1));
    return at->second;
  }

  void Rename(const Op& from, Op* op) {
    op->host = Host(from.host);
    op->stream = streams_.Get(from.stream);
    op->name = String(from.name);
    op->label = String(from.label);
    op->id = out_.ops.size() + 1;
    if (from.kind == OpKind::kHostFn || (from.flags & kSyncBegin)) named_[from.id] = op->id;
    if (op->stack != 0) op->stack += tape_.stacks_from;
    if (OnEvent(from)) op->object = events_.Get(from.object);
    if (OnBuffer(from)) op->object = buffers_.Get(from.object);
    if (LauncherInAux(from)) op->aux = streams_.Get(from.aux);
    RenameRest(from, op);
  }

  void RenameRest(const Op& from, Op* op) {
    const uint64_t in_value = uint64_t{tape_.rank} << 32;
    switch (from.kind) {
      case OpKind::kHostBegin:
        op->aux = tape_.rank;
        break;
      case OpKind::kAlloc:
      case OpKind::kAllocAsync:
        op->aux = pools_.Get(from.aux);
        op->value |= in_value;
        break;
      case OpKind::kStreamCreate:
        devices_.insert(static_cast<uint16_t>(from.value));
        op->value |= in_value;
        break;
      case OpKind::kDeviceSync:
        op->value = tape_.rank;
        break;
      case OpKind::kStreamWaitEvent:
        op->aux = streams_.Get(from.aux);
        break;
      case OpKind::kHandoff:
        op->object = Host(static_cast<HostId>(from.object));
        break;
      case OpKind::kHostAccess:
        if (from.aux == 1) op->value = named_[from.value];
        break;
      case OpKind::kSyncEnd:
        op->value = named_[from.value];
        op->object = 0;
        break;
      case OpKind::kTagRelease:
      case OpKind::kTagAcquire:
        op->object = tags_.Get(from.object + 1);
        break;
      case OpKind::kSignal:
      case OpKind::kAwait:
        RenameFlag(op);
        break;
      case OpKind::kCollective:
        op->object = comms_.Get(from.object + 1);
        op->value = Partner(from.object, static_cast<uint32_t>(from.value)) |
                    uint64_t{streams_.Get(static_cast<StreamId>(from.value >> 32))} << 32;
        break;
      case OpKind::kCaptureBegin:
      case OpKind::kCaptureEnd:
      case OpKind::kGraphLaunch:
      case OpKind::kGraphDestroy:
        op->object = graphs_.Get(from.object + 1);
        break;
      default:
        break;
    }
  }

  // A value in another process's block is that process's.
  void RenameFlag(Op* op) {
    const uint64_t address = flag_addresses_.at(op->object);
    const Window* window = Find(windows_, address);
    const uint64_t place = window == nullptr ? address + RankBits(tape_.rank)
                                             : address - window->begin + window->block->range.begin;
    op->object = counters_.flags.Get(place);
    op->aux = static_cast<uint32_t>(place >> kRankShift);
  }

  const ProcessTape& tape_;
  Counters& counters_;
  Program& out_;
  size_t at_ = 0, time_ = 0;
  bool over_ = false;
  std::set<uint32_t> devices_{0};
  Ids streams_, events_, buffers_, pools_, tags_, comms_, graphs_;
  std::vector<uint64_t> flag_addresses_;  // by this process's ids
  std::unordered_map<HostId, HostId> hosts_;
  std::unordered_map<OpId, OpId> named_;  // those that others name
  std::vector<StringId> strings_;
  std::set<uint32_t> shared_events_, opened_events_;
  std::map<BufferId, SharedBlock*> opened_blocks_, given_;
  std::map<uint32_t, const Meeting*> meetings_;  // by communicator
  Windows windows_, own_;
  std::vector<Access> later_;  // of this operation
};

// Where the blocks lie that are given away.
struct Place {
  Range range;
  bool unmapped = false;
};
std::map<BufferId, Place> PlacesOf(const ProcessTape& tape, const std::set<BufferId>& buffers) {
  std::map<BufferId, Place> places;
  if (buffers.empty()) return places;
  for (const Op& op : *tape.ops) {
    if ((!Allocates(op) && !Frees(op)) || !buffers.contains(op.object)) continue;
    const Access& access = (*tape.accesses)[op.access_begin];
    Place& place = places[op.object];
    place.range = {access.begin, access.end};
    place.unmapped |= Unmaps(op);
  }
  return places;
}

// Of a group of several calls it is not told which of them meets which of another rank's.
bool IsMixed(const ProcessTape& tape, const Op& op) {
  const bool pair = PointToPoint(static_cast<CollectiveKind>(op.aux));
  const bool partners = pair && static_cast<uint32_t>(op.value) == 0;
  return partners || tape.strings->Get(op.name).find('+') != std::string::npos;
}

Meetings MeetingsOf(const std::vector<ProcessTape>& tapes,
                    const std::vector<const std::vector<CommEnd>*>& comms, Ids::Next* next) {
  Meetings meetings;
  std::set<std::pair<std::string, uint32_t>> mixed;
  for (size_t i = 0; i < comms.size(); ++i) {
    for (const CommEnd& end : *comms[i]) {
      if (end.identity.empty()) continue;
      meetings[{end.identity, end.ranks}].ranks[end.member] = tapes[i].rank;
    }
    for (const Op& op : *tapes[i].ops) {
      if (op.kind != OpKind::kCollective || op.object >= comms[i]->size()) continue;
      const CommEnd& end = (*comms[i])[op.object];
      if (IsMixed(tapes[i], op)) mixed.insert({end.identity, end.ranks});
    }
  }
  std::erase_if(meetings, [&](const auto& entry) {
    return entry.second.ranks.size() < 2 || mixed.contains(entry.first);
  });
  for (auto& [key, meeting] : meetings) meeting.id = next->low++;
  return meetings;
}

}  // namespace

std::vector<SharingPair> MatchShared(
    const std::vector<const std::vector<SharedThing>*>& processes) {
  using Side = SharingPair::Side;
  std::map<std::pair<bool, std::string>, std::vector<Side>> given;
  auto thing = [&](const Side& side) -> const SharedThing& {
    return (*processes[side.process])[side.thing];
  };
  for (size_t process = 0; process < processes.size(); ++process) {
    for (size_t i = 0; i < processes[process]->size(); ++i) {
      const SharedThing& its = (*processes[process])[i];
      if (!its.opened) given[{its.event, its.handle}].push_back({process, i});
    }
  }
  std::vector<SharingPair> pairs;
  for (size_t process = 0; process < processes.size(); ++process) {
    for (size_t i = 0; i < processes[process]->size(); ++i) {
      const SharedThing& its = (*processes[process])[i];
      auto found = given.find({its.event, its.handle});
      if (!its.opened || its.id == 0 || found == given.end()) continue;
      const Side* last = nullptr;
      for (const Side& side : found->second) {
        const bool possible =
            side.process != process && thing(side).id != 0 && thing(side).ns <= its.ns;
        if (possible && (last == nullptr || thing(side).ns > thing(*last).ns)) last = &side;
      }
      if (last != nullptr) pairs.push_back({*last, {process, i}});
    }
  }
  return pairs;
}

std::vector<std::vector<size_t>> GroupSharing(const std::vector<SharingPair>& pairs,
                                              size_t processes) {
  std::vector<size_t> leader(processes);
  std::iota(leader.begin(), leader.end(), size_t{0});
  auto find = [&](size_t at) {
    while (leader[at] != at) at = leader[at];
    return at;
  };
  for (const SharingPair& pair : pairs) {
    const size_t a = find(pair.given.process), b = find(pair.opened.process);
    leader[std::max(a, b)] = std::min(a, b);
  }
  std::vector<std::vector<size_t>> groups;
  std::map<size_t, size_t> group_of;
  for (size_t i = 0; i < processes; ++i) {
    auto [at, fresh] = group_of.try_emplace(find(i), groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

Program JoinPrograms(const std::vector<ProcessTape>& tapes, const std::vector<SharingPair>& pairs,
                     const std::vector<const std::vector<CommEnd>*>& comms) {
  Program program;
  program.recorded = true;
  Counters counters;
  std::vector<Reader> readers;
  readers.reserve(tapes.size());
  for (size_t i = 0; i < tapes.size(); ++i) {
    readers.emplace_back(tapes[i], &counters, &program);
  }
  const Meetings meetings = MeetingsOf(tapes, comms, &counters.comms);
  for (size_t i = 0; i < comms.size(); ++i) {
    for (uint32_t comm = 0; comm < comms[i]->size(); ++comm) {
      const CommEnd& end = (*comms[i])[comm];
      auto meeting = meetings.find({end.identity, end.ranks});
      if (meeting != meetings.end()) readers[i].Meets(comm, &meeting->second);
    }
  }
  std::vector<std::set<BufferId>> given(tapes.size());
  auto thing = [&](const SharingPair::Side& side) -> const SharedThing& {
    return (*tapes[side.process].shared)[side.thing];
  };
  for (const SharingPair& pair : pairs) {
    if (thing(pair.given).event) {
      readers[pair.given.process].GivesEvent(thing(pair.given).id);
    } else {
      given[pair.given.process].insert(thing(pair.given).id);
    }
  }
  std::vector<std::map<BufferId, Place>> places;
  for (size_t i = 0; i < tapes.size(); ++i) places.push_back(PlacesOf(tapes[i], given[i]));
  std::map<std::pair<size_t, BufferId>, SharedBlock> blocks;  // nodes stay where they are
  for (const SharingPair& pair : pairs) {
    const SharedThing& its = thing(pair.given);
    Reader& opener = readers[pair.opened.process];
    const size_t owner = pair.given.process;
    if (its.event) {
      opener.OpensEvent(thing(pair.opened).id, readers[owner].EventOf(its.id));
      continue;
    }
    auto place = places[owner].find(its.id);
    if (place == places[owner].end()) continue;
    auto [at, fresh] = blocks.try_emplace({owner, its.id});
    SharedBlock& block = at->second;
    if (fresh) {
      const Range range = place->second.range;
      const uint64_t rank = RankBits(tapes[owner].rank);
      block.range = {range.begin + rank, range.end + rank};
      if (place->second.unmapped) block.mapping = counters.TakeRange(range.end - range.begin);
      readers[owner].GivesBlock(its.id, &block);
    }
    opener.OpensBlock(thing(pair.opened).id, &block);
  }
  for (;;) {
    Reader* next = nullptr;
    for (Reader& reader : readers) {
      if (!reader.Done() && (next == nullptr || reader.Now() < next->Now())) next = &reader;
    }
    if (next == nullptr) return program;
    next->Take();
  }
}

}  // namespace ss
