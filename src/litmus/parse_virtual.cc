// Virtual memory management: ranges of addresses, physical memory mapped into them, and blocks that
// a caching allocator cuts from them. As in a recorded program, a mapping is an allocation.
#include <fmt/format.h>

#include <algorithm>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr const char* kReserved = "a range reserved above";

bool Overlap(const Storage& storage, const Access& range) {
  return storage.begin < range.end && range.begin < storage.end;
}

}  // namespace

void Parser::Reserve() {
  Token name = NewBufferName();
  const Token size = at_.Peek();
  uint64_t bytes = at_.Bytes("a size");
  if (!bytes) Refuse(size, "a size above 0");
  at_.ExpectEnd();
  AddStorage(name, {.memory = MemoryKind::kDevice, .reserved = true}, std::nullopt, bytes);
}

Parser::Target Parser::ReservedRange() {
  Token name = at_.Name(kReserved);
  Target target = Range(name);
  RefuseRows(target, "a range");
  const Buffer& buffer = UseBuffer(name);
  if (buffer.view || !storages_[buffer.storage].reserved) Refuse(name, kReserved);
  return target;
}

// Storages of `kind` cut from what the target names, the oldest first.
std::vector<size_t> Parser::CutFrom(const Target& target, MemoryKind kind, bool live) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < storages_.size(); ++i) {
    const Storage& one = storages_[i];
    if (one.reserved || one.memory != kind || !Overlap(one, target.access)) continue;
    if (!live || !one.freed_line) found.push_back(i);
  }
  return found;
}

// Where the target goes on behind what is mapped; its end if all of it is.
uint64_t Parser::FirstHole(const Target& target, bool live) const {
  std::vector<size_t> mapped = CutFrom(target, MemoryKind::kDevice, live);
  std::sort(mapped.begin(), mapped.end(),
            [&](size_t a, size_t b) { return storages_[a].begin < storages_[b].begin; });
  uint64_t at = target.access.begin;
  for (size_t i : mapped) {
    if (storages_[i].begin > at) break;
    at = std::max(at, storages_[i].end);
  }
  return std::min(at, target.access.end);
}

void Parser::RefuseUnmapped(const Target& target, bool live) const {
  uint64_t hole = FirstHole(target, live);
  if (hole == target.access.end) return;
  Refuse(target.token, "bytes that are mapped",
         fmt::format("nothing is mapped {} bytes behind the first of them",
                     hole - target.access.begin));
}

void Parser::Map() {
  RefuseInCapture(at_.Previous(), "mappings are no work of a stream");
  Target target = ReservedRange();
  for (size_t i : CutFrom(target, MemoryKind::kDevice, true)) {
    Refuse(target.token, "a range in which nothing is mapped",
           fmt::format("line {} mapped there", storages_[i].line));
  }
  Token name = at_.Name("a name for the physical memory");
  if (!Scope().physical.count(name.text)) RefuseOtherKind(name, "physical memory", Scope());
  Physical& memory = Scope().physical.try_emplace(name.text, Physical{target.size()}).first->second;
  if (memory.bytes != target.size()) {
    Refuse(name, fmt::format("physical memory of {}; this is {}", BytesText(target.size()),
                             BytesText(memory.bytes)));
  }
  if (memory.storage != 0 && !storages_[memory.storage].freed_line) {
    Refuse(name, "physical memory that is mapped nowhere",
           fmt::format("mapped in line {}", storages_[memory.storage].line));
  }
  if (at_.Accept("device")) memory.device = DeviceNumber();
  StringId label = LabelAndEnd();
  memory.storage = storages_.size();
  storages_.push_back({.id = static_cast<BufferId>(storages_.size() + 1),
                       .begin = target.access.begin,
                       .end = target.access.end,
                       .memory = MemoryKind::kDevice,
                       .line = line_});
  EmitAlloc(OpKind::kAlloc, target.token, memory.storage, memory.device).label = label;
}

// One free for each mapping, as cuMemUnmap may take several. An allocator's free blocks end with
// it, unjudged: their bytes were the allocator's, and were judged when they were freed.
void Parser::Unmap() {
  RefuseInCapture(at_.Previous(), "mappings are no work of a stream");
  Target target = ReservedRange();
  StringId label = LabelAndEnd();
  RefuseUnmapped(target, true);
  for (size_t i : CutFrom(target, MemoryKind::kCaching, true)) {
    Refuse(target.token, "a range without live blocks",
           fmt::format("the block of line {} has not been freed", storages_[i].line));
  }
  for (size_t i : CutFrom(target, MemoryKind::kDevice, true)) {
    Storage& mapping = storages_[i];
    if (mapping.begin < target.access.begin || mapping.end > target.access.end) {
      Refuse(target.token, "whole mappings", fmt::format("line {} mapped more", mapping.line));
    }
    mapping.freed_line = line_;
    Op& op = Emit(OpKind::kFree, "unmap");
    op.object = mapping.id;
    op.label = label;
    op.flags |= kNoBarrier;
    if (mapping.carved) op.flags |= kImplicitEnd;
  }
}

// Where the block of an allocation `at V[0:4K]` begins; nothing without the clause.
std::optional<uint64_t> Parser::AtClause(uint64_t bytes) {
  if (!at_.Accept("at")) return std::nullopt;
  Target target = ReservedRange();
  if (target.size() != bytes) {
    Refuse(target.token, "a range of " + BytesText(bytes), "it has " + BytesText(target.size()));
  }
  RefuseUnmapped(target, true);
  for (size_t i : CutFrom(target, MemoryKind::kCaching, true)) {
    Refuse(target.token, "a range without live blocks",
           fmt::format("the block of line {} has not been freed", storages_[i].line));
  }
  for (size_t i : CutFrom(target, MemoryKind::kDevice, true)) storages_[i].carved = true;
  return target.access.begin;
}

}  // namespace ss::litmus
