#include "src/explain/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/program/op_names.h"

namespace ss {
namespace {

constexpr size_t kBefore = 3;          // ordering calls before the finding's first operation
constexpr size_t kMost = 24;           // operations that a picture can carry
constexpr size_t kLookBack = 200'000;  // operations searched
constexpr uint8_t kAny = 0;            // access modes: an allocation's has none

class Window {
 public:
  Window(Finding* finding, const Tape& tape, const LaneNames& names)
      : finding_(*finding),
        tape_(tape),
        names_(names),
        at_(finding->instances[0]),
        from_(std::min(at_.first_index, at_.second_index)),
        to_(std::max(at_.first_index, at_.second_index)) {
    if (finding_.reuse.op != 0) to_ = std::max(to_, finding_.reuse.index);
  }

  void Fill() {
    FindBuffer();
    FindProducer();
    if (finding_.reuse.op != 0) Touch(At(finding_.reuse.index), kAny, &finding_.reuse);
    Pick();
    for (size_t i : picked_) finding_.timeline.push_back(MakeSite(i));
    NameRanks(&finding_, names_);
  }

 private:
  const Op& At(size_t index) const { return (*tape_.ops)[index]; }

  // The last allocation before the finding that has the conflicting bytes: its tenancy is where a
  // producer is looked for.
  void FindBuffer() {
    for (size_t i = std::min(from_ + 1, tape_.ops->size()); i-- > Stop(from_);) {
      const Op& op = At(i);
      bool allocates = op.kind == OpKind::kAlloc || op.kind == OpKind::kAllocAsync;
      if (!allocates || op.object != finding_.buffer.id) continue;
      const Access& range = tape_.AccessesOf(op)[0];
      base_ = range.begin;
      begin_ = range.begin + finding_.buffer.begin;
      end_ = range.begin + finding_.buffer.end;
      alloc_ = i;
      return;
    }
  }

  static size_t Stop(size_t from) { return from > kLookBack ? from - kLookBack : 0; }

  // The first of the operation's accesses of the bytes in conflict that is one of `modes`.
  const Access* AccessOf(const Op& op, uint8_t modes) const {
    for (uint32_t i = 0; i < op.access_count; ++i) {
      const Access& access = tape_.AccessesOf(op)[i];
      const bool mode = modes == kAny || (access.mode & modes) != 0;
      if (mode && access.begin < end_ && access.end > begin_) return &access;
    }
    return nullptr;
  }

  bool Writes(const Op& op) const { return AccessOf(op, kWrite | kAtomic) != nullptr; }

  // Which bytes of the block it touches, and how well that is known.
  void Touch(const Op& op, uint8_t modes, Site* site) const {
    const Access* access = AccessOf(op, modes);
    if (access == nullptr) return;
    auto relative = [&](uint64_t address) {
      return std::min(std::max(address, base_) - base_, finding_.buffer.bytes);
    };
    site->begin = relative(access->begin);
    site->end = relative(access->end);
    if (access->shape != 0) site->rows = tape_.names->shapes.Get(access->shape);
    site->direction = access->direction;
    site->extent = access->extent;
  }

  void FindProducer() {
    if (alloc_ == SIZE_MAX) return;
    for (size_t i = from_; i-- > alloc_;) {
      if (At(i).kind == OpKind::kAlloc || At(i).kind == OpKind::kFree || !Writes(At(i))) continue;
      producer_ = i;
      finding_.producer = MakeSite(i);
      finding_.producer.access = "write";
      Touch(At(i), kWrite | kAtomic, &finding_.producer);
      return;
    }
  }

  bool Concerns(StreamId stream) const {
    if (stream == 0) return false;
    for (StreamId own : {finding_.first.stream, finding_.second.stream, finding_.reuse.stream,
                         finding_.buffer.owner_stream}) {
      if (names_.contexts().Includes(stream, own)) return true;
    }
    return false;
  }

  bool Key(size_t i) const {
    return i == at_.first_index || i == at_.second_index ||
           (finding_.reuse.op != 0 && i == finding_.reuse.index);
  }

  bool Shows(size_t i) const {
    const Op& op = At(i);
    switch (op.kind) {
      case OpKind::kStreamWaitEvent:
      case OpKind::kEventRecord:
      case OpKind::kStreamSync:
        return Concerns(op.stream);
      case OpKind::kRecordStream:
        return op.object == finding_.buffer.id;
      default:
        return Key(i);
    }
  }

  void Pick() {
    for (size_t i = from_; i-- > Stop(from_) && picked_.size() < kBefore;) {
      if (Shows(i)) picked_.push_back(i);
    }
    if (producer_ != SIZE_MAX) picked_.push_back(producer_);
    if (alloc_ != SIZE_MAX) Registrations();
    for (size_t i = from_; i <= to_ && i < tape_.ops->size(); ++i) {
      if (Shows(i) && (Key(i) || picked_.size() < kMost)) picked_.push_back(i);
    }
    std::sort(picked_.begin(), picked_.end());
    picked_.erase(std::unique(picked_.begin(), picked_.end()), picked_.end());
  }

  // The allocation, and what was registered with the allocator since.
  void Registrations() {
    constexpr size_t kRegistrations = 4;
    picked_.push_back(alloc_);
    for (size_t i = alloc_, found = 0; i < from_ && found < kRegistrations; ++i) {
      if (At(i).kind != OpKind::kRecordStream || At(i).object != finding_.buffer.id) continue;
      picked_.push_back(i);
      ++found;
    }
  }

  Site MakeSite(size_t index) const {
    if (index == finding_.first.index) return finding_.first;
    if (index == finding_.second.index) return finding_.second;
    if (finding_.reuse.op != 0 && index == finding_.reuse.index) return finding_.reuse;
    const Op& op = At(index);
    Site site;
    site.op = op.id;
    site.index = index;
    site.kind = op.kind;
    site.stack = op.stack;
    site.line = op.line;
    site.name = Name(op.kind);
    site.access = site.name;
    const bool by_host = op.kind == OpKind::kAlloc || op.kind == OpKind::kRecordStream;
    site.stream = by_host ? 0 : op.stream;
    site.lane =
        by_host || op.stream == 0 ? names_.Host(op.host) : names_.StreamIn(finding_, op.stream);
    site.host = names_.Host(op.host);
    site.host_id = op.host;
    site.rank = names_.Rank(op.host);
    Rename(op, index, &site);
    return site;
  }

  void Rename(const Op& op, size_t index, Site* site) const {
    switch (op.kind) {
      case OpKind::kStreamWaitEvent:
        for (size_t j = index; j-- > 0;) {
          if (At(j).kind != OpKind::kEventRecord || At(j).object != op.object) continue;
          site->name = fmt::format("wait {}", At(j).id);
          break;
        }
        break;
      case OpKind::kRecordStream:
        site->name = fmt::format("record_stream({})", names_.StreamIn(finding_, op.stream));
        break;
      case OpKind::kKernel:
      case OpKind::kCopy:
      case OpKind::kMemset:
      case OpKind::kCollective:
        if (op.name != 0) site->name = tape_.names->strings.Get(op.name);
        break;
      default:
        break;
    }
  }

  Finding& finding_;
  const Tape& tape_;
  const LaneNames& names_;
  const Instance at_;
  const size_t from_;
  size_t to_;
  uint64_t base_ = 0;             // of the block
  uint64_t begin_ = 0, end_ = 0;  // of the bytes in conflict
  size_t alloc_ = SIZE_MAX, producer_ = SIZE_MAX;
  std::vector<size_t> picked_;
};

}  // namespace

void NameRanks(Finding* finding, const LaneNames& names) {
  if (!names.several_ranks()) return;
  for (Site* site : {&finding->first, &finding->second, &finding->reuse, &finding->producer}) {
    site->among_ranks = true;
  }
  for (Site& site : finding->timeline) site.among_ranks = true;
}

LaneNames::LaneNames(const Tape& tape) {
  std::optional<uint32_t> first_rank;
  for (const Op& op : *tape.ops) {
    if (op.kind == OpKind::kHostBegin) {
      ranks_[op.host] = op.aux;
      if (!first_rank) first_rank = op.aux;
      several_ranks_ |= op.aux != *first_rank;
    }
    if (op.kind == OpKind::kStreamCreate) contexts_.Learn(op);
    if (op.name == 0) continue;
    if (op.kind == OpKind::kStreamCreate) streams_[op.stream] = tape.names->strings.Get(op.name);
    if (op.kind == OpKind::kHostBegin) hosts_[op.host] = tape.names->strings.Get(op.name);
  }
}

std::string LaneNames::Stream(StreamId stream) const {
  auto found = streams_.find(stream);
  return found == streams_.end() ? fmt::format("stream#{}", stream) : found->second;
}

std::string LaneNames::Host(HostId host) const {
  auto found = hosts_.find(host);
  return found == hosts_.end() ? "main" : found->second;
}

uint32_t LaneNames::Rank(HostId host) const {
  auto found = ranks_.find(host);
  return found == ranks_.end() ? 0 : found->second;
}

std::string LaneNames::StreamIn(const Finding& finding, StreamId stream) const {
  if (stream == finding.first.stream) return finding.first.lane;
  if (stream == finding.second.stream) return finding.second.lane;
  if (stream == finding.buffer.owner_stream) return finding.buffer.owner;
  return Stream(stream);
}

void FillWindow(Finding* finding, const Tape& tape, const LaneNames& names) {
  if (!finding->instances.empty()) Window(finding, tape, names).Fill();
}

}  // namespace ss
