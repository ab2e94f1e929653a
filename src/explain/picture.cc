#include "src/explain/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/program/contexts.h"
#include "src/program/op_names.h"

namespace ss {

uint32_t Picture::PositionOf(size_t index) const {
  auto found = std::lower_bound(operations.begin(), operations.end(), index,
                                [](const Operation& op, size_t at) { return op.index < at; });
  bool exact = found != operations.end() && found->index == index;
  return exact ? static_cast<uint32_t>(found - operations.begin()) : kNone;
}

namespace {

constexpr size_t kAround =
    400;  // operations on either side of a finding's, where not all are shown

bool Shows(const Op& op) {
  switch (op.kind) {
    case OpKind::kHostBegin:
    case OpKind::kHostEnd:
    case OpKind::kStreamCreate:
    case OpKind::kStreamDestroy:
    case OpKind::kEventDestroy:
    case OpKind::kSyncEnd:
    case OpKind::kTagRelease:
    case OpKind::kTagAcquire:
    case OpKind::kBufferName:
    case OpKind::kCaptureBegin:
    case OpKind::kCaptureEnd:
      return false;
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
      return (op.flags & (kNotReady | kAllocatorInternal)) == 0;
    default:
      return true;
  }
}

bool OnHost(const Op& op) {
  switch (op.kind) {
    case OpKind::kAlloc:
    case OpKind::kFree:
    case OpKind::kRecordStream:
    case OpKind::kStreamSync:
    case OpKind::kEventSync:
    case OpKind::kDeviceSync:
    case OpKind::kStreamQuery:
    case OpKind::kEventQuery:
    case OpKind::kHandoff:
      return true;
    case OpKind::kHostAccess:
      return op.aux != 1;
    default:
      return op.stream == 0;
  }
}

class Artist {
 public:
  Artist(const Tape& tape, const std::vector<Finding>& findings, size_t limit)
      : tape_(tape), findings_(findings), limit_(limit) {}

  Picture Make() {
    ranks_ = std::any_of(tape_.ops->begin(), tape_.ops->end(),
                         [](const Op& op) { return op.kind == OpKind::kHostBegin && op.aux != 0; });
    Choose();
    for (size_t i = 0; i < tape_.ops->size(); ++i) Pass(i);
    NameBuffers();
    if (!whole_) DropUnseenLives();
    return std::move(out_);
  }

 private:
  const std::string& Text(StringId id) const { return tape_.names->strings.Get(id); }

  // Everything, where there is room for it; else only what lies around the findings.
  void Choose() {
    const size_t size = tape_.ops->size();
    whole_ = size <= limit_;
    if (whole_) return;
    chosen_.assign(size, false);
    size_t room = limit_;
    auto take = [&](size_t index) {
      const size_t begin = index > kAround ? index - kAround : 0;
      for (size_t i = begin; i < std::min(size, index + kAround) && room > 0; ++i) {
        room -= !chosen_[i];
        chosen_[i] = true;
      }
    };
    for (const Finding& finding : findings_) {
      if (finding.absorbed) continue;
      for (const Site* site :
           {&finding.first, &finding.second, &finding.reuse, &finding.producer}) {
        if (site->op != 0) take(site->index);
      }
      for (const Site& site : finding.timeline) take(site.index);
    }
  }

  uint32_t NameOf(const std::string& text) {
    auto [at, fresh] = names_.try_emplace(text, static_cast<uint32_t>(out_.names.size()));
    if (fresh) out_.names.push_back(text);
    return at->second;
  }

  uint32_t AddLane(const std::string& name, const char* kind, uint32_t rank) {
    out_.lanes.push_back({ranks_ ? fmt::format("rank{} {}", rank, name) : name, kind});
    return static_cast<uint32_t>(out_.lanes.size() - 1);
  }

  uint32_t HostLane(HostId host) {
    auto [at, fresh] = host_lanes_.try_emplace(host, 0);
    if (fresh) {
      auto known = hosts_.find(host);
      const bool named = known != hosts_.end() && known->second.name != 0;
      at->second = AddLane(named ? Text(known->second.name) : "main", "host thread",
                           known == hosts_.end() ? 0 : known->second.rank);
    }
    return at->second;
  }

  static const char* KindOf(StreamType type) {
    if (type == StreamType::kContext) return "context";
    return type == StreamType::kGraph ? "graph branch" : "stream";
  }

  // A per-thread stream is one lane a thread.
  uint32_t StreamLane(StreamId stream, HostId host) {
    const StreamFacts& facts = streams_[stream];
    const bool per_thread = facts.type == StreamType::kPerThread;
    auto [at, fresh] = stream_lanes_.try_emplace({stream, per_thread ? host : HostId{0}}, 0);
    if (fresh) {
      std::string name = facts.name ? Text(facts.name) : fmt::format("stream#{}", stream);
      if (per_thread && host != 0) name += "@" + Text(hosts_[host].name);
      at->second = AddLane(name, KindOf(facts.type), hosts_[host].rank);
    }
    return at->second;
  }

  void Pass(size_t index) {
    const Op& op = (*tape_.ops)[index];
    Learn(op);
    const bool shown = Shows(op) && (whole_ || chosen_[index]);
    const uint32_t position =
        shown ? static_cast<uint32_t>(out_.operations.size()) : Picture::kNone;
    if (shown) {
      Add(op, index);
    } else if (Shows(op)) {
      ++out_.left_out;
    }
    Order(op, position);
    Memory(op, position);
    if (shown) {
      Touch(op);
      About(op, position);
    }
  }

  void About(const Op& op, uint32_t position) {
    switch (op.kind) {
      case OpKind::kAlloc:
      case OpKind::kAllocAsync:
      case OpKind::kFree:
      case OpKind::kFreeAsync:
      case OpKind::kRecordStream:
        if (auto life = life_of_.find(op.object); life != life_of_.end()) {
          about_.emplace_back(position, life->second);
        }
        break;
      default:
        break;
    }
  }

  void Learn(const Op& op) {
    if (op.kind == OpKind::kStreamCreate) {
      streams_[op.stream] = {op.name, static_cast<StreamType>(op.aux)};
      contexts_.Learn(op);
    } else if (op.kind == OpKind::kHostBegin) {
      hosts_[op.host] = {op.name, op.aux};
    } else if (op.kind == OpKind::kBufferName) {
      auto life = life_of_.find(op.object);
      if (life != life_of_.end()) out_.lives[life->second].name = NameOf(Text(op.name));
    }
  }

  // A block has its name only some time after its allocation.
  void NameBuffers() {
    for (const auto& [position, life] : about_) {
      Picture::Operation& op = out_.operations[position];
      const std::string& buffer = out_.names[out_.lives[life].name];
      op.name = NameOf(fmt::format("{} {}{}", Name(op.kind), buffer, out_.names[op.name]));
    }
  }

  void Add(const Op& op, size_t index) {
    Picture::Operation shown;
    shown.op = op.id;
    shown.index = index;
    shown.kind = op.kind;
    shown.lane = OnHost(op) ? HostLane(op.host) : StreamLane(op.stream, op.host);
    shown.name = NameOf(NameFor(op));
    shown.touch_begin = static_cast<uint32_t>(out_.touches.size());
    shown.stack = op.stack;
    shown.line = op.line;
    const bool waits = op.kind == OpKind::kStreamWaitEvent || op.kind == OpKind::kEventSync;
    shown.orders_nothing = waits && !recorded_.contains(op.object);
    out_.operations.push_back(shown);
  }

  std::string NameFor(const Op& op) {
    switch (op.kind) {
      case OpKind::kKernel:
      case OpKind::kCopy:
      case OpKind::kMemset:
      case OpKind::kHostFn:
      case OpKind::kCollective:
        return op.name ? Text(op.name) : Name(op.kind);
      case OpKind::kAlloc:
      case OpKind::kAllocAsync:
      case OpKind::kFree:
      case OpKind::kFreeAsync:
        return "";  // NameBuffers() says the rest
      case OpKind::kRecordStream:
        return ", " + out_.lanes[StreamLane(op.stream, op.host)].name;
      case OpKind::kStreamWaitEvent: {
        auto record = recorded_.find(op.object);
        if (record == recorded_.end()) return "wait, never recorded";
        return fmt::format("wait for op {}", record->second.op);
      }
      case OpKind::kStreamSync:
        return fmt::format("wait for {}", out_.lanes[StreamLane(op.stream, op.host)].name);
      default:
        return Name(op.kind);
    }
  }

  void Link(uint32_t from, uint32_t to) {
    if (from != Picture::kNone && to != Picture::kNone && from != to)
      out_.edges.push_back({from, to});
  }

  uint32_t LastOn(StreamId stream) const {
    auto last = last_on_.find(stream);
    return last == last_on_.end() ? Picture::kNone : last->second;
  }

  void Order(const Op& op, uint32_t position) {
    switch (op.kind) {
      case OpKind::kEventRecord:
        recorded_[op.object] = {position, op.id};
        break;
      case OpKind::kStreamWaitEvent:
      case OpKind::kEventSync:
      case OpKind::kEventQuery:
        if (auto record = recorded_.find(op.object); record != recorded_.end()) {
          Link(record->second.position, position);
        }
        break;
      case OpKind::kStreamSync:
      case OpKind::kStreamQuery:
        Link(LastOn(op.stream), position);
        break;
      case OpKind::kDeviceSync:
        for (const auto& [stream, last] : last_on_) {
          if (contexts_.Syncs(op, stream)) Link(last, position);
        }
        break;
      default:
        break;
    }
    if (position != Picture::kNone && !OnHost(op)) last_on_[op.stream] = position;
  }

  void Memory(const Op& op, uint32_t position) {
    if (op.kind == OpKind::kFree || op.kind == OpKind::kFreeAsync) {
      auto life = life_of_.find(op.object);
      if (life != life_of_.end()) out_.lives[life->second].died = position;
      return;
    }
    if (op.kind != OpKind::kAlloc && op.kind != OpKind::kAllocAsync) return;
    const Access& range = tape_.AccessesOf(op)[0];
    Picture::Life life;
    life.buffer = op.object;
    life.name = NameOf(BufferLabel(tape_.names->strings, op.name, op.object));
    life.bytes = range.end - range.begin;
    if (op.stream != 0) life.owner = StreamLane(op.stream, op.host);
    life.born = position;
    Ranges& ranges = range.memory == MemoryKind::kCaching ? blocks_ : storages_;
    const uint32_t number = static_cast<uint32_t>(out_.lives.size());
    life.heir_of = Replace(ranges, range, number);
    life_of_[op.object] = number;
    starts_.push_back(range.begin);
    out_.lives.push_back(life);
  }

  // Of a long program most buffers have nothing to do with what is shown.
  void DropUnseenLives() {
    std::vector<uint32_t> number(out_.lives.size(), Picture::kNone);
    for (const Picture::Touch& touch : out_.touches) number[touch.life] = 0;
    std::vector<Picture::Life> kept;
    for (size_t i = 0; i < number.size(); ++i) {
      Picture::Life life = out_.lives[i];
      bool seen = life.born != Picture::kNone || life.died != Picture::kNone;
      if (!seen && number[i] == Picture::kNone) continue;
      number[i] = static_cast<uint32_t>(kept.size());
      if (life.heir_of != Picture::kNone) life.heir_of = number[life.heir_of];
      kept.push_back(life);
    }
    for (Picture::Touch& touch : out_.touches) touch.life = number[touch.life];
    out_.lives = std::move(kept);
  }

  struct Range {
    uint64_t end = 0;
    uint32_t life = 0;
  };
  using Ranges = std::map<uint64_t, Range>;  // by first byte, disjoint

  // Takes [begin, end) from whoever had it; the last of those, kNone = nobody.
  static uint32_t Replace(Ranges& ranges, const Access& range, uint32_t life) {
    uint32_t before = Picture::kNone;
    auto at = ranges.upper_bound(range.begin);
    if (at != ranges.begin() && std::prev(at)->second.end > range.begin) --at;
    while (at != ranges.end() && at->first < range.end) {
      const uint64_t begin = at->first;
      const Range old = at->second;
      before = before == Picture::kNone ? old.life : std::max(before, old.life);
      at = ranges.erase(at);
      if (begin < range.begin) ranges[begin] = {range.begin, old.life};
      if (old.end > range.end) at = ranges.emplace(range.end, old).first;
    }
    ranges[range.begin] = {range.end, life};
    return before;
  }

  static const Range* FindRange(const Ranges& ranges, uint64_t address) {
    auto after = ranges.upper_bound(address);
    if (after == ranges.begin() || std::prev(after)->second.end <= address) return nullptr;
    return &std::prev(after)->second;
  }

  // The buffer where an access begins: blocks hide the storage that they were cut from.
  void Touch(const Op& op) {
    if (op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync) return;
    for (uint32_t i = 0; i < op.access_count; ++i) {
      const Access& access = tape_.AccessesOf(op)[i];
      const Range* range = FindRange(blocks_, access.begin);
      if (range == nullptr) range = FindRange(storages_, access.begin);
      if (range == nullptr) continue;
      const Picture::Life& life = out_.lives[range->life];
      const uint64_t begin = access.begin - starts_[range->life];
      out_.touches.push_back({range->life, access.mode, begin,
                              std::min(begin + (access.end - access.begin), life.bytes)});
    }
  }

  struct StreamFacts {
    StringId name = 0;
    StreamType type{};
  };
  struct HostFacts {
    StringId name = 0;
    uint32_t rank = 0;
  };
  struct Record {
    uint32_t position = Picture::kNone;
    OpId op = 0;
  };

  const Tape& tape_;
  const std::vector<Finding>& findings_;
  const size_t limit_;
  bool whole_ = true;
  bool ranks_ = false;  // there are several
  std::vector<bool> chosen_;
  Picture out_;
  std::unordered_map<std::string, uint32_t> names_;
  std::map<HostId, uint32_t> host_lanes_;
  std::map<std::pair<StreamId, HostId>, uint32_t> stream_lanes_;
  std::unordered_map<StreamId, StreamFacts> streams_;
  std::unordered_map<HostId, HostFacts> hosts_;
  std::unordered_map<EventId, Record> recorded_;
  ContextMap contexts_;
  std::unordered_map<StreamId, uint32_t> last_on_;
  std::unordered_map<BufferId, uint32_t> life_of_;
  std::vector<uint64_t> starts_;  // a life: its first address
  Ranges blocks_, storages_;
  std::vector<std::pair<uint32_t, uint32_t>> about_;  // operations that a life begins or ends with
};

}  // namespace

Picture MakePicture(const Tape& tape, const std::vector<Finding>& findings, size_t limit) {
  return Artist(tape, findings, limit).Make();
}

}  // namespace ss
