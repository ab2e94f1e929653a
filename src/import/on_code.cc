// Launches of kernels whose machine code was read: which of the words that a launch passes lead to
// memory, and what the kernel does there (decision 3 of docs/architecture.md).
#include <fmt/format.h>

#include <algorithm>

#include "src/import/state.h"

namespace ss {
namespace {

using kernels::KernelEntry;
using kernels::Root;

uint8_t ModeOf(const kernels::Access& access) {
  return static_cast<uint8_t>((access.reads ? kRead : 0) | (access.writes ? kWrite : 0) |
                              (access.updates ? kAtomic : 0));
}

}  // namespace

// The words of one launch, in order of their offsets. Words that cannot be addresses are not
// recorded.
struct Importer::State::Words {
  std::span<const uint64_t> pairs;  // offset, value

  size_t size() const { return pairs.size() / 2; }
  uint64_t offset(size_t i) const { return pairs[2 * i]; }
  uint64_t value(size_t i) const { return pairs[2 * i + 1]; }
  size_t From(uint64_t offset) const {  // the first word there or behind
    size_t low = 0, high = size();
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (pairs[2 * middle] < offset) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  uint64_t At(int32_t offset) const {  // 0: not recorded
    if (offset < 0) return 0;
    const size_t i = From(static_cast<uint64_t>(offset));
    return i < size() && pairs[2 * i] == static_cast<uint64_t>(offset) ? value(i) : 0;
  }
};

const KernelEntry* Importer::State::WaitsFor(const trace::Record& record) const {
  const auto* launch = std::get_if<trace::Launch>(&record.body);
  if (launch == nullptr || launch->result != 0) return nullptr;
  const auto function = functions_.find(launch->function);
  if (function == functions_.end() || function->second.code == nullptr) return nullptr;
  const KernelEntry* code = function->second.code.get();
  return code->state == KernelEntry::kPending ? code : nullptr;
}

void Importer::State::Unresolved(const Function& function, const std::string& reason) {
  UnresolvedKernel& kernel = unresolved_[function.name];
  ++kernel.launches;
  kernel.reason = reason;
}

// Adds what the summary says. True if that is everything that the kernel touches.
bool Importer::State::UseSummary(const Function& function, const trace::WORDS& words, Op& op) {
  const KernelEntry* code = function.code.get();
  if (code->state == KernelEntry::kPending) {
    Unresolved(function, "its analysis took too long");
    return false;
  }
  if (code->state == KernelEntry::kUnseen) {
    Unresolved(function, code->reason);
    return false;
  }
  const kernels::KernelSummary& summary = code->summary;
  const Words launch{words};
  std::string reason = summary.resolved() ? "" : summary.unresolved.front();
  for (const kernels::PointerDifference& difference : summary.differences) {
    const bool pointer = difference.offset < 0 || IsLive(launch, difference.offset);
    if (pointer && reason.empty()) reason = "the difference of two pointers goes into an address";
  }
  const bool splits = op.flags & kPdlWait && TouchesBeforeItsWait(function);
  for (const kernels::Access& access : summary.accesses) {
    std::string lacking = UseAccess(access, summary, launch, op);
    if (reason.empty()) reason = std::move(lacking);
    if (splits && access.before_grid_wait) AddEarlyPart(access);
    early_.resize(held_.LastAccesses().size(), false);
  }
  if (reason.empty()) return true;
  Unresolved(function, reason);
  return false;
}

// What of the accesses just added may come before the kernel's grid-dependency wait, once more.
void Importer::State::AddEarlyPart(kernels::Access access) {
  access.reads = access.early_reads;
  access.writes = access.early_writes;
  access.updates = access.early_updates;
  const std::span<const Access> added = held_.LastAccesses().subspan(early_.size());
  early_.resize(early_.size() + added.size(), false);
  for (Access early : std::vector<Access>(added.begin(), added.end())) {
    early.mode = ModeOf(access);
    held_.AddAccess(early);
    early_.push_back(true);
  }
}

bool Importer::State::IsLive(const Words& words, int32_t offset) {
  return memory_.Find(words.At(offset)).block != nullptr;
}

// Returns why it is not known what the access touches; empty: it is, or it touches nothing here.
std::string Importer::State::UseAccess(const kernels::Access& access,
                                       const kernels::KernelSummary& summary, const Words& words,
                                       Op& op) {
  const Evidence direction = access.ambiguous ? Evidence::kAssumed : Evidence::kStatic;
  switch (access.root) {
    case Root::kParam:
      if (access.polled && IsLive(words, access.offset)) op.flags |= kPolling;
      UseWord(words.At(access.offset), access, direction);
      return "";
    // Which entries the kernel gets to is not known: those behind its list may be left from another
    // one.
    case Root::kParamTable:
      for (size_t i = words.From(static_cast<uint64_t>(std::max(access.offset, 0)));
           i < words.size() && words.offset(i) < static_cast<uint64_t>(access.end); ++i) {
        const uint64_t step = std::max<uint32_t>(access.stride, 8);
        if ((words.offset(i) - static_cast<uint64_t>(access.offset)) % step != 0) continue;
        if (memory_.Find(words.value(i)).block) UseWord(words.value(i), access, Evidence::kAssumed);
      }
      return "";
    case Root::kTensorMap:
      return UseTensorMap(access, words);
    case Root::kIndirect:
      if (access.polled) op.flags |= kPolling;
      if (IsGather(access, summary, words)) return "";
      if (!MayBeList(access, summary)) return "pointers that it reads from memory";
      counts_.Add(Count::kTakenAsPointers);
      return "";
    case Root::kGlobal:
      counts_.Add(Count::kModuleVariables);
      return "";
    case Root::kTexture:
      return "textures or surfaces";
  }
  return "";
}

// P + an index that was loaded looks like P or a loaded pointer. Where P is a pointer here, it is
// P.
bool Importer::State::IsGather(const kernels::Access& access, const kernels::KernelSummary& summary,
                               const Words& words) {
  if (!access.ambiguous) return false;
  const uint8_t mode = ModeOf(access);
  return std::any_of(summary.accesses.begin(), summary.accesses.end(), [&](const auto& other) {
    return other.root == Root::kParam && (ModeOf(other) & mode) == mode &&
           IsLive(words, other.offset);
  });
}

// Kernels of libraries take a matrix or a list of matrices through one argument (cuBLAS, CUTLASS):
// the argument is followed directly, and once more through what it points to, for the same purpose.
// Which of the two a launch means is in a mode that is not looked at; lists are the rarer.
bool Importer::State::MayBeList(const kernels::Access& access,
                                const kernels::KernelSummary& summary) {
  const uint8_t mode = ModeOf(access);
  return std::any_of(summary.accesses.begin(), summary.accesses.end(), [&](const auto& other) {
    return other.root == Root::kParam && other.offset == access.offset &&
           (ModeOf(other) & mode) == mode && access.symbol.empty();
  });
}

void Importer::State::UseWord(uint64_t address, const kernels::Access& access, Evidence direction) {
  if (address == 0) return;  // null, or nothing that could be an address
  const MemoryMap::Found found = memory_.Find(address);
  if (found.block == nullptr) return counts_.Add(Count::kArgumentsOutside);
  Range range{address, found.limit};
  const bool known = access.first != access.last;
  if (known) {  // but nothing outside of the block: that would be another fault than a race
    range.begin =
        std::max(address + static_cast<uint64_t>(int64_t{access.first}), found.block->begin);
    range.end = std::min(address + static_cast<uint64_t>(int64_t{access.last}), found.limit);
    if (range.begin >= range.end) return counts_.Add(Count::kArgumentsOutside);
  }
  AddAccess(range, ModeOf(access), found.block->accessed, direction,
            known && !access.scattered ? Evidence::kStatic : Evidence::kAssumed);
}

std::string Importer::State::UseTensorMap(const kernels::Access& access, const Words& words) {
  bool any = false;
  const auto end = static_cast<uint64_t>(access.stride ? access.end : access.offset + 8);
  for (size_t i = words.From(static_cast<uint64_t>(std::max(access.offset, 0)));
       i < words.size() && words.offset(i) < end; ++i) {
    const uint64_t past = words.offset(i) - static_cast<uint64_t>(access.offset);
    if (access.stride ? past % access.stride != 0 : past != 0) continue;
    const auto map = tensor_maps_.find(words.value(i));
    const TensorMapRange range = map == tensor_maps_.end() ? TensorMapRange{} : map->second;
    const MemoryMap::Found found = memory_.Find(range.address);
    if (found.block != nullptr && found.block->buffer == range.buffer) {
      any = true;
      AddAccess({range.address, std::min(range.address + range.bytes, found.block->end)},
                ModeOf(access), found.block->accessed,
                access.stride ? Evidence::kAssumed : Evidence::kStatic,
                range.exact ? Evidence::kExact : Evidence::kAssumed);
    } else if (memory_.Find(words.value(i)).block != nullptr) {
      any = true;
      UseWord(words.value(i), access, Evidence::kStatic);
    }
  }
  return any ? "" : "a tensor map whose encoding was not seen";
}

// The first word of a map is its base address (measured; NVIDIA documents nothing of it). Two maps
// of one base with different spans leave the larger. A library may write maps by itself: what was
// encoded for an earlier tenant of the address says nothing.
void Importer::State::On(const trace::TensorMap& record) {
  const Range range = MakeRange(record.address, record.bytes);
  if (range.begin == range.end) return;
  const MemoryMap::Found found = memory_.Find(record.address);
  const BufferId buffer = found.block == nullptr ? 0 : found.block->buffer;
  TensorMapRange& known = tensor_maps_[record.first_word];
  if (known.address != record.address || known.buffer != buffer) {
    known = {record.address, record.bytes, buffer, true};
  } else if (known.bytes != record.bytes) {
    known.exact = false;
    known.bytes = std::max(known.bytes, record.bytes);
  }
}

// For the registry (src/kernels/registry.h), which has seen them already.
void Importer::State::On(const trace::Image&) {}
void Importer::State::On(const trace::ImageBytes&) {}
void Importer::State::On(const trace::ImageLoad&) {}

}  // namespace ss
