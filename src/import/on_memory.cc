// Records that begin and end tenancies of memory.
#include <algorithm>
#include <utility>

#include "src/import/state.h"

namespace ss {
namespace {

// Alloc::kind
constexpr uint64_t kOpened = 6, kVariable = 7, kManagedVariable = 8;

MemoryKind KindOfAlloc(uint64_t kind) {  // Alloc::kind
  switch (kind) {
    case 1:
    case 5:
    case kOpened:
    case kVariable:
      return MemoryKind::kDevice;
    case 2:
    case 3:
      return MemoryKind::kPinned;
    case 4:
    case kManagedVariable:
      return MemoryKind::kManaged;
    default:
      return MemoryKind::kUnknown;
  }
}

bool IsHostSide(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kManaged ||
         kind == MemoryKind::kPageable;
}

}  // namespace

void Importer::State::AddBlockRange(const Block& block) {
  AddAccess({block.begin, block.end}, 0, block.kind, Evidence::kExact, Evidence::kExact);
}

Op& Importer::State::BeginTenancy(Block& block, OpKind kind, const ContextLife& context,
                                  uint64_t stack) {
  block.buffer = ++buffers_made_;
  block.context = context.memory_home;
  Op& op = Emit(kind, stack);
  op.stream = block.owner;
  op.object = block.buffer;
  op.aux = block.pool;
  op.value = context.device | uint64_t{options_.rank} << 32;
  op.name = block.name;
  AddBlockRange(block);
  return op;
}

// What a graph allocates is told of with its first launch.
bool Importer::State::IsTold(const Block& block) const {
  return !block.of_graph || building_ || told_of_graphs_.contains(block.buffer);
}

// True where an operation came of it. What nobody heard of ends without a word.
bool Importer::State::EndTenancy(Block& block, OpKind kind, uint64_t stack, uint32_t flags,
                                 const StreamLife* stream) {
  const bool told = IsTold(block);
  if (told) {
    Op& op = Emit(kind, stack);
    if (stream != nullptr) op.stream = stream->id;
    op.flags |= flags;
    op.object = block.buffer;
    op.name = block.name;
    AddBlockRange(block);
  }
  if (!device_flags_.empty()) {
    std::erase_if(device_flags_, [&](const Range& flag) {
      return flag.begin < block.end && block.begin < flag.end;
    });
  }
  // A graph frees it whenever it is launched, and what is queued before that uses it still.
  const bool later = building_ && kind == OpKind::kFreeAsync;
  if (!later) memory_.Remove(&block);
  return told;
}

// With the pool blocks inside it, which nobody freed. A segment that had any is not judged itself:
// its bytes were the pool's, and judged there.
bool Importer::State::EndDriverBlock(Block& block, OpKind kind, uint64_t stack,
                                     const StreamLife* stream) {
  pool_of_graphs_.erase(pool_of_graphs_.lower_bound(block.begin),
                        pool_of_graphs_.lower_bound(block.end));
  std::vector<Block*> inside;
  if (block.carved) memory_.OverlappingPool(block.begin, block.end, inside);
  for (Block* child : inside) EndTenancy(*child, OpKind::kFree, stack, kImplicitEnd);
  return EndTenancy(block, kind, stack, block.carved ? uint32_t{kImplicitEnd} : 0, stream);
}

void Importer::State::EndMissed(const std::vector<Block*>& blocks) {
  for (Block* block : blocks) {
    // A graph's memory goes with the graph, a variable with its module, unseen.
    const bool expected = block->named_only || block->of_graph || block->variable;
    if (!expected) counts_.Add(Count::kMissedFrees);
    EndTenancy(*block, OpKind::kFree, 0, kImplicitEnd);
  }
}

// Ends whatever is still taken to live where the driver gives out memory now. Returns the name that
// host memory had which is registered now.
StringId Importer::State::MakeRoom(Range range) {
  blocks_.clear();
  memory_.OverlappingPool(range.begin, range.end, blocks_);
  memory_.OverlappingDriver(range.begin, range.end, blocks_);
  StringId name = 0;
  for (Block* block : blocks_) {
    if (block->named_only && block->begin == range.begin) name = block->name;
  }
  EndMissed(blocks_);
  return name;
}

void Importer::State::On(const trace::Alloc& record) {
  if (Failed(record.result) || record.bytes == 0) return;
  const Range range = MakeRange(record.address, record.bytes);
  if (range.begin == range.end) return;
  const bool variable = record.kind == kVariable || record.kind == kManagedVariable;
  if (variable) {  // asked for once more
    const Block* known = memory_.DriverBlock(range.begin);
    if (known != nullptr && known->variable && known->end == range.end) return;
  }
  if (record.kind == kOpened && OpenAgain(range)) return;
  const ContextLife context = ContextOf(record.context);
  const StringId name = MakeRoom(range);
  Block& block = *memory_.AddDriver(range.begin, range.end);
  block.variable = variable;
  block.opened = record.kind == kOpened;
  block.kind = block.accessed = KindOfAlloc(record.kind);
  block.mapped = record.handle;
  block.name = name;
  Op& op = BeginTenancy(block, OpKind::kAlloc, context, record.stack);
  if (record.is_private != 0) op.flags |= kPrivate;
  if (record.handle == 0) return;
  Mapping& mapping = mappings_[record.handle];
  mapping.last = range.begin;
  if (++mapping.ranges > 1) counts_.Add(Count::kAliasedMappings);
  auto shared = shared_handles_.find(record.handle);
  if (shared != shared_handles_.end()) ShareMapping(shared->second, block.buffer);
}

// What is given away was shared when it was, and from its mapping on where it was mapped before.
void Importer::State::ShareMapping(SharedThing& thing, BufferId buffer) {
  SharedThing its = thing;
  its.id = buffer;
  if (thing.opened || thing.id != 0) its.ns = now_ns_;
  thing.id = buffer;
  shared_.push_back(std::move(its));
}

void Importer::State::ShareHandle(const trace::Shared& record) {
  if (record.opened == 0 && record.handle.empty())
    return void(shared_handles_.erase(record.object));
  SharedThing& thing = shared_handles_[record.object];
  thing = {false, record.opened != 0, 0, record.handle, now_ns_};
  auto mapping = mappings_.find(record.object);
  if (mapping == mappings_.end() || thing.opened) return;
  if (const Block* block = memory_.DriverBlock(mapping->second.last)) {
    if (block->mapped == record.object) ShareMapping(thing, block->buffer);
  }
}

// Rule 8. Whoever has the other processes' traces, too, says what of it is known.
void Importer::State::On(const trace::Shared& record) {
  constexpr uint64_t kMemory = 1, kMapping = 3;
  if (record.kind == kMapping) return ShareHandle(record);
  SharedThing thing{record.kind != kMemory, record.opened != 0, 0, record.handle, now_ns_};
  if (thing.event) {
    thing.id = EventOf(record.object, 0);
    shared_events_.insert(thing.id);
  } else {
    blocks_.clear();
    memory_.OverlappingDriver(record.object, record.object + 1, blocks_);
    if (!blocks_.empty()) thing.id = blocks_.front()->buffer;
  }
  shared_.push_back(std::move(thing));
}

void Importer::State::On(const trace::AllocAsync& record) {
  if (Failed(record.result) || record.bytes == 0) return;
  const Range range = MakeRange(record.address, record.bytes);
  if (range.begin == range.end) return;
  const StreamLife stream = StreamOf(record.stream, record.context);
  const StringId name = MakeRoom(range);
  Block& block = *memory_.AddDriver(range.begin, range.end);
  block.of_graph = building_;
  block.kind = block.accessed = MemoryKind::kPool;
  block.name = name;
  block.owner = stream.id;
  block.pool = 1 + pools_.Get(record.pool != 0 ? record.pool : ~uint64_t{stream.context.device});
  Op& op = BeginTenancy(block, OpKind::kAllocAsync, stream.context, record.stack);
  if (record.is_private != 0) op.flags |= kPrivate;
  if (building_) {
    graph_blocks_[block.buffer] = block;
    return;
  }
  if (now_.after == now_.before) {
    CheckOverlap(op, Queues(stream));
  } else if (overlaps_.WasHit(now_.thread, now_.after)) {  // was checked when the call began
    op.flags |= kAmbiguousOrder;
  }
}

// A range that is unmapped is as many blocks as were mapped there. Blocks of a pool may lie across:
// they end with the first of them. The call waits for nothing.
void Importer::State::Unmap(const trace::Free& record) {
  const Range range = MakeRange(record.address, record.bytes);
  std::vector<Block*> gone;
  memory_.OverlappingDriver(range.begin, range.end, gone);
  if (gone.empty()) return counts_.Add(Count::kUnknownFrees);
  for (Block* block : gone) {
    if (--mappings_[block->mapped].ranges == 0) mappings_.erase(block->mapped);
    // Where a segment was carved up, or nobody had heard of the block, its end is not judged
    // anyway.
    if (EndDriverBlock(*block, OpKind::kFree, record.stack)) {
      held_.Find(held_.last())->flags |= kNoBarrier;
    }
  }
}

void Importer::State::On(const trace::Free& record) {
  if (Failed(record.result) || record.address == 0) return;
  if (record.bytes != 0) return Unmap(record);
  Block* block = memory_.DriverBlock(record.address);
  if (block == nullptr || block->named_only) return counts_.Add(Count::kUnknownFrees);
  if (block->opened > 1) return void(--block->opened);
  blocks_.clear();
  memory_.OverlappingPool(block->begin, block->end, blocks_);
  counts_.Add(Count::kSegmentFrees, blocks_.size());
  EndDriverBlock(*block, OpKind::kFree, record.stack);
}

// Another process's memory that is opened twice is there once, until it is closed twice.
bool Importer::State::OpenAgain(Range range) {
  Block* block = memory_.DriverBlock(range.begin);
  if (block == nullptr || block->opened == 0 || block->end != range.end) return false;
  ++block->opened;
  return true;
}

void Importer::State::On(const trace::FreeAsync& record) {
  if (Failed(record.result) || record.address == 0) return;
  Block* block = memory_.DriverBlock(record.address);
  if (block == nullptr || block->named_only) return counts_.Add(Count::kUnknownFrees);
  const StreamLife& stream = StreamOf(record.stream, record.context);
  blocks_.clear();
  memory_.OverlappingPool(block->begin, block->end, blocks_);
  counts_.Add(Count::kSegmentFrees, blocks_.size());
  if (EndDriverBlock(*block, OpKind::kFreeAsync, record.stack, &stream)) {
    CheckOverlap(*held_.Find(held_.last()), Queues(stream));
  }
}

// An empty block is one byte long, so that its free finds it. One of host memory has no owner: what
// may happen next to it is anybody's write.
void Importer::State::On(const trace::NotePoolAlloc& record) {
  if (record.address == 0) return;
  const Range range = MakeRange(record.address, std::max<uint64_t>(record.bytes, 1));
  if (range.begin == range.end) return;
  if (record.host != 0) return HostPoolAlloc(range, record);
  const StreamLife stream = StreamOf(record.stream, record.context);
  const uint32_t pool = 1 + pools_.Get(record.pool);
  OpenCapture* capture = CaptureOf(stream.id);
  if (capture == nullptr && GraphPoolAlloc(range, stream, pool)) return;
  if (capture != nullptr) BeginBuilding();
  blocks_.clear();
  memory_.OverlappingPool(range.begin, range.end, blocks_);
  EndMissed(blocks_);
  const MemoryMap::Found segment = memory_.Find(range.begin);
  Block& block = *memory_.AddPool(range.begin, range.end);
  block.kind = block.accessed = MemoryKind::kCaching;
  if (segment.block != nullptr && IsHostSide(segment.block->kind))
    block.accessed = segment.block->kind;
  block.owner = stream.id;
  block.pool = pool;
  BeginTenancy(block, OpKind::kAlloc, stream.context, record.stack);
  if (capture == nullptr) return;
  block.of_graph = true;
  pool_of_graphs_[range.begin] = {range.end, block.buffer};
  AddBookkeeping(*capture, stream.id);
}

void Importer::State::HostPoolAlloc(Range range, const trace::NotePoolAlloc& record) {
  blocks_.clear();
  memory_.OverlappingPool(range.begin, range.end, blocks_);
  EndMissed(blocks_);
  Block& block = *memory_.AddPool(range.begin, range.end);
  block.kind = block.accessed = MemoryKind::kPinned;
  block.pool = 1 + pools_.Get(record.pool);
  BeginTenancy(block, OpKind::kAlloc, ContextLife{}, record.stack);
}

// Memory that was handed out while capturing is the graph's from one replay to the next: what its
// allocator does with it in between (PyTorch restores its lists) makes no new tenants (rule 14).
bool Importer::State::GraphPoolAlloc(Range range, const StreamLife& stream, uint32_t pool) {
  auto after = pool_of_graphs_.upper_bound(range.begin);
  if (after == pool_of_graphs_.begin()) return false;
  const auto& [begin, kept] = *std::prev(after);
  if (range.begin >= kept.end) return false;
  blocks_.clear();
  memory_.OverlappingPool(range.begin, range.end, blocks_);
  for (Block* block : blocks_) memory_.Remove(block);
  Block& block = *memory_.AddPool(range.begin, range.end);
  block.kind = block.accessed = MemoryKind::kCaching;
  block.buffer = kept.buffer;
  block.owner = stream.id;
  block.pool = pool;
  block.of_graph = true;
  return true;
}

void Importer::State::On(const trace::NotePoolFree& record) {
  if (record.address == 0) return;
  Block* block = memory_.PoolBlock(record.address);
  if (block == nullptr || block->pool != 1 + pools_.Get(record.pool)) {
    return counts_.Add(Count::kUnknownFrees);
  }
  if (!block->of_graph) {
    EndTenancy(*block, OpKind::kFree, record.stack);
    return;
  }
  const StreamId owner = block->owner;
  OpenCapture* capture = CaptureOf(owner);
  if (capture == nullptr || !capture->blocks.contains(block->buffer)) {
    memory_.Remove(block);  // stays the graph's
    return;
  }
  BeginBuilding();
  EndTenancy(*block, OpKind::kFree, record.stack);
  AddBookkeeping(*capture, owner);
}

void Importer::State::On(const trace::NotePoolRecordUse& record) {
  if (record.address == 0) return;
  const MemoryMap::Found found = memory_.Find(record.address);
  if (found.block == nullptr || !found.block->in_pool_layer) {
    return counts_.Add(Count::kUnknownRecordUses);
  }
  const StreamLife stream = StreamOf(record.stream, record.context);
  OpenCapture* capture = found.block->of_graph ? CaptureOf(found.block->owner) : nullptr;
  if (found.block->of_graph &&
      (capture == nullptr || !capture->blocks.contains(found.block->buffer))) {
    return;  // the graph's memory is not given back in between
  }
  if (capture != nullptr) BeginBuilding();
  Op& op = EmitOn(OpKind::kRecordStream, stream, record.stack);
  op.object = found.block->buffer;
  op.name = found.block->name;
  // Of pinned memory the copies tell the allocator, and nobody could leave it out.
  if (found.block->kind == MemoryKind::kPinned) op.flags |= kAllocatorInternal;
  AddBlockRange(*found.block);
  if (capture != nullptr) AddBookkeeping(*capture, stream.id);
}

void Importer::State::On(const trace::NoteBuffer& record) {
  const StringId name = TextOf(record.text_id);
  const Range range = MakeRange(record.address, record.bytes);
  if (name == 0 || range.begin == range.end) return;
  Block* block = memory_.Find(range.begin).block;
  if (block != nullptr && block->named_only && block->name != name &&
      (block->begin != range.begin || block->end != range.end)) {
    EndMissed({block});  // host memory, used for something else by now
    block = nullptr;
  }
  if (block == nullptr) {
    NameUnknown(range, name);
  } else {
    NameBlock(*block, range, name);
  }
}

// A name for most of a block from its beginning on is the block's name: allocators and pitches
// round up.
void Importer::State::NameBlock(Block& block, Range range, StringId name) {
  range.end = std::min(range.end, block.end);
  if (range.begin == block.begin && range.end - range.begin >= (block.end - block.begin) / 2) {
    range = {block.begin, block.end};
    if (block.name == name) return;
    block.name = name;
  }
  if (!IsTold(block)) {
    if (block.name == name) names_of_graphs_[block.buffer] = name;
    return;
  }
  Op& op = Emit(OpKind::kBufferName);
  op.object = block.buffer;
  op.name = name;
  AddAccess(range, 0, block.kind, Evidence::kExact, Evidence::kExact);
}

// Memory that no call gave out: host memory from malloc or a variable, mostly. It becomes a tenant,
// as far as it is free, so that reports on copies from it have a name for it.
void Importer::State::NameUnknown(Range range, StringId name) {
  counts_.Add(Count::kLateNames);
  blocks_.clear();
  memory_.OverlappingPool(range.begin, range.end, blocks_);
  memory_.OverlappingDriver(range.begin, range.end, blocks_);
  for (const Block* other : blocks_) range.end = std::min(range.end, other->begin);
  Block& block = *memory_.AddDriver(range.begin, range.end);
  block.kind = block.accessed = UnknownKind(range.begin);
  block.name = name;
  block.named_only = true;
  BeginTenancy(block, OpKind::kAlloc, ContextLife{}, 0);
}

}  // namespace ss
