#include <fmt/format.h>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr int kMaxLevels = 2;  // rows, and slices of rows

// Every buffer gets its own pages, with a hole behind it: an access that strays meets nothing.
constexpr uint64_t kAlignment = 64 << 10;
constexpr uint64_t kRankSpace = uint64_t{1} << 47;

constexpr const char* kAllocated = "a buffer allocated above";

uint64_t RoundUp(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::optional<MemoryKind> PlainMemory(std::string_view word) {
  if (word == "device") return MemoryKind::kDevice;
  if (word == "pinned") return MemoryKind::kPinned;
  if (word == "pageable") return MemoryKind::kPageable;
  if (word == "managed") return MemoryKind::kManaged;
  return std::nullopt;
}

bool CpuCanTouch(MemoryKind memory) {
  return memory == MemoryKind::kPinned || memory == MemoryKind::kPageable ||
         memory == MemoryKind::kManaged;
}

}  // namespace

Token Parser::NewBufferName() {
  Token name = at_.Name("a name for the buffer");
  auto found = Scope().buffers.find(name.text);
  if (found == Scope().buffers.end()) return name;
  const Storage& storage = storages_[found->second.storage];
  if (found->second.view || storage.freed_line) return name;
  Refuse(name, "a new name", fmt::format("the buffer of line {} has not been freed", storage.line));
}

// Where a freed buffer began whose range the allocator hands out again; nothing without the clause.
std::optional<uint64_t> Parser::ReuseClause(uint64_t bytes, MemoryKind memory) {
  if (!at_.Accept("reuse")) return std::nullopt;
  Token name = at_.Name("a buffer that has been freed");
  Storage& old = WholeBuffer(name);
  if (!old.freed_line) Refuse(name, "a buffer that has been freed");
  if (old.taken_line) {
    Refuse(name, "a buffer that has been freed",
           fmt::format("handed out again in line {}", old.taken_line));
  }
  if (old.placed) Refuse(name, "a freed buffer outside reserved ranges", "'at' says where in one");
  if (old.memory != memory) Refuse(name, "a freed buffer of the same allocator");
  if (bytes > old.end - old.begin) {
    Refuse(name, fmt::format("a freed buffer of at least {}", BytesText(bytes)));
  }
  old.taken_line = line_;
  return old.begin;
}

size_t Parser::AddStorage(const Token& name, Storage storage, std::optional<uint64_t> at,
                          uint64_t bytes) {
  uint64_t& next = Scope().next_address;
  storage.begin = at.value_or(next);
  storage.end = storage.begin + bytes;
  storage.id = static_cast<BufferId>(storages_.size() + 1);
  storage.line = line_;
  if (!at) next = RoundUp(storage.end) + kAlignment;
  if ((next & (kRankSpace * 2 - 1)) > kRankSpace)
    Refuse(name, "less memory: a rank has 128T in all");
  storages_.push_back(storage);
  Scope().buffers[name.text] = {storages_.size() - 1, storage.begin, storage.end, false};
  declared_.try_emplace({Scope().rank, name.text},
                        PeerBuffer{storage.begin, storage.end, storage.memory});
  return storages_.size() - 1;
}

Op& Parser::EmitAlloc(OpKind kind, const Token& name, size_t index, uint32_t device) {
  const Storage& storage = storages_[index];
  Access whole{.begin = storage.begin, .end = storage.end, .memory = storage.memory};
  Op& op = Emit(kind, name.text, {whole});
  op.stream = storage.owner;
  op.object = storage.id;
  op.value = device | uint64_t{Scope().rank} << 32;
  return op;
}

void Parser::Alloc() {
  Token name = NewBufferName();
  const Token size = at_.Peek();
  uint64_t bytes = at_.Bytes("a size");
  if (!bytes) Refuse(size, "a size above 0");
  if (at_.Sees("on") || at_.Sees("reuse")) return AllocOnStream(name, bytes);
  AllocPlain(name, bytes);
}

void Parser::AllocOnStream(const Token& name, uint64_t bytes) {
  auto reused = ReuseClause(bytes, MemoryKind::kCaching);
  at_.Expect("on");
  const Stream& owner = UseStream(StreamName());
  if (!reused) reused = ReuseClause(bytes, MemoryKind::kCaching);
  const auto placed = reused ? std::nullopt : AtClause(bytes);
  StringId label = LabelAndEnd();
  size_t storage = AddStorage(
      name, {.memory = MemoryKind::kCaching, .owner = owner.id, .placed = placed.has_value()},
      placed ? placed : reused, bytes);
  Op& op = EmitAlloc(OpKind::kAlloc, name, storage, owner.device);
  op.label = label;
  if (reused) op.flags |= kReuse;
}

void Parser::AllocPlain(const Token& name, uint64_t bytes) {
  auto memory = PlainMemory(at_.Peek().text);
  if (at_.Peek().kind != Token::Kind::kWord || !memory) {
    Refuse(at_.Peek(), "'on' and a stream, or one of device, pinned, pageable, managed");
  }
  at_.Take();
  uint32_t device = at_.Accept("device") ? DeviceNumber() : 0;
  StringId label = LabelAndEnd();
  size_t storage = AddStorage(name, {.memory = *memory}, std::nullopt, bytes);
  EmitAlloc(OpKind::kAlloc, name, storage, device).label = label;
}

void Parser::MallocAsync() {
  Token name = NewBufferName();
  const Token size = at_.Peek();
  uint64_t bytes = at_.Bytes("a size");
  if (!bytes) Refuse(size, "a size above 0");
  auto reused = ReuseClause(bytes, MemoryKind::kPool);
  at_.Expect("on");
  Token stream_name = StreamName();
  RefuseUncaptured(stream_name);
  const Stream& stream = UseStream(stream_name);
  if (!reused) reused = ReuseClause(bytes, MemoryKind::kPool);
  StringId label = LabelAndEnd();
  size_t storage =
      AddStorage(name, {.memory = MemoryKind::kPool, .owner = stream.id}, reused, bytes);
  Op& op = EmitAlloc(OpKind::kAllocAsync, name, storage, stream.device);
  op.label = label;
  if (reused) op.flags |= kReuse;
}

void Parser::MarkFreed(const Token& name, Storage& storage) {
  if (storage.freed_line) {
    Refuse(name, "a buffer that has not been freed",
           fmt::format("freed in line {}", storage.freed_line));
  }
  storage.freed_line = line_;
}

void Parser::Free() {
  Token name = at_.Name(kAllocated);
  Storage& storage = WholeBuffer(name);
  MarkFreed(name, storage);
  StringId label = LabelAndEnd();
  Op& op = Emit(OpKind::kFree, "free");
  op.object = storage.id;
  op.label = label;
}

void Parser::FreeAsync() {
  Token name = at_.Name("a buffer of 'malloc_async'");
  Storage& storage = WholeBuffer(name);
  if (storage.memory != MemoryKind::kPool) Refuse(name, "a buffer of 'malloc_async'");
  MarkFreed(name, storage);
  at_.Expect("on");
  Token stream = StreamName();
  RefuseUncaptured(stream);
  Clauses clauses{{}, LabelAndEnd()};
  EmitOn(stream, OpKind::kFreeAsync, "free_async", clauses).object = storage.id;
}

void Parser::RecordStream() {
  Token name = at_.Name(kAllocated);
  const Storage& storage = storages_[UseBuffer(name).storage];
  if (storage.reserved) Refuse(name, kAllocated, "this is a reserved range");
  BufferId buffer = storage.id;
  Token stream = StreamName();
  Clauses clauses{{}, LabelAndEnd()};
  EmitOn(stream, OpKind::kRecordStream, "record_stream", clauses).object = buffer;
}

void Parser::Fill() {
  Target target = OwnTarget(at_.Name(kAllocated));
  RefuseRows(target, "a range");
  target.access.mode = kWrite;
  Clauses clauses{{target.access}, 0};
  StreamId stream = storages_[target.storage].owner;
  if (at_.Accept("on")) {
    Token name = StreamName();
    RefuseUncaptured(name);
    stream = UseStream(name).id;
  } else if (!stream) {
    Refuse(at_.Peek(), fmt::format("'on' and a stream: {} belongs to none", Quoted(target.token)));
  }
  clauses.label = LabelAndEnd();
  Op& op = Emit(OpKind::kKernel, "fill", clauses.accesses);
  op.stream = stream;
  op.flags = kFill;
  op.label = clauses.label;
}

void Parser::View() {
  Token name = NewBufferName();
  Target target = OwnTarget(at_.Name(kAllocated));
  RefuseRows(target, "a range");
  at_.ExpectEnd();
  Buffer view{target.storage, target.access.begin, target.access.end, true};
  Scope().buffers[name.text] = view;
  declared_.try_emplace({Scope().rank, name.text},
                        PeerBuffer{view.begin, view.end, target.access.memory});
}

Buffer& Parser::UseBuffer(const Token& name) {
  auto found = Scope().buffers.find(name.text);
  if (found == Scope().buffers.end()) Refuse(name, kAllocated, WhatItIs(name));
  return found->second;
}

Storage& Parser::WholeBuffer(const Token& name) {
  Buffer& buffer = UseBuffer(name);
  Storage& storage = storages_[buffer.storage];
  if (buffer.view) Refuse(name, kAllocated, "this is a view; name the buffer that it shows");
  if (storage.reserved)
    Refuse(name, kAllocated, "this is a reserved range; 'unmap' ends what is in it");
  return storage;
}

Parser::Target Parser::AnyTarget() {
  Token name = at_.Name(kAllocated);
  return at_.Sees("@") ? PeerTarget(name) : OwnTarget(name);
}

Parser::Target Parser::OwnTarget(const Token& name) {
  Target target = Range(name);
  if (storages_[target.storage].reserved) RefuseUnmapped(target, false);
  return target;
}

Parser::Target Parser::Range(const Token& name) {
  const Buffer& buffer = UseBuffer(name);
  Target target{name, {.begin = buffer.begin, .end = buffer.end}, buffer.storage};
  target.access.memory = storages_[buffer.storage].memory;
  RangeClause(target);
  return target;
}

// A@N. The section of rank N may come later: then the first pass takes note, and the second one
// knows.
Parser::Target Parser::PeerTarget(const Token& name) {
  at_.Expect("@");
  const Token rank_token = at_.Peek();
  uint32_t rank = RankNumber();
  ranks_named_.push_back({rank_token, rank});
  Need(8, "peer memory");
  Target target{name, {}, 0};
  auto section = ranks_.find(rank);
  bool above = section != ranks_.end() && section->second.buffers.count(name.text);
  if (above) {
    const Buffer& buffer = section->second.buffers[name.text];
    target.storage = buffer.storage;
    target.access = {
        .begin = buffer.begin, .end = buffer.end, .memory = storages_[buffer.storage].memory};
  } else if (!peers_) {
    needs_second_pass_ = true;
    target.known = false;
  } else if (auto peer = peers_->find({rank, name.text}); peer != peers_->end()) {
    target.access = {
        .begin = peer->second.begin, .end = peer->second.end, .memory = peer->second.memory};
  } else {
    Refuse(name, fmt::format("a buffer that rank {} allocates", rank));
  }
  RangeClause(target);
  return target;
}

void Parser::RangeClause(Target& target) {
  if (!at_.Accept("[")) return;
  uint64_t begin = at_.Bytes("the first byte of a range");
  at_.Expect(":");
  const Token end_token = at_.Peek();
  uint64_t end = at_.Bytes("the end of a range");
  if (end <= begin) Refuse(end_token, "an end beyond " + BytesText(begin));
  RefuseBeyond(target, end, end_token);
  Shape shape{end - begin, {}};
  for (int level = 0; level < kMaxLevels && at_.Sees("pitch"); ++level) {
    const Token word = at_.Peek();
    shape = RowsClause(shape);
    target.rows = shape;
    RefuseBeyond(target, begin + shape.Span(), word);
  }
  at_.Expect("]");
  target.access.end = target.access.begin + begin + shape.Span();
  target.access.begin += begin;
  const std::optional<ShapeId> id = file_.program.shapes.Intern(shape);
  if (!id) Refuse(end_token, "rows of a form that was there before", "65,535 are all there may be");
  target.access.shape = *id;
}

void Parser::RefuseBeyond(const Target& target, uint64_t end, const Token& token) {
  if (!target.known || end <= target.size()) return;
  Refuse(token, fmt::format("an end of at most {}, the size of '{}'", BytesText(target.size()),
                            target.token.text));
}

// ... pitch 4K rows 16: so many of what stands before, so far apart.
Shape Parser::RowsClause(const Shape& inside) {
  at_.Expect("pitch");
  const Token pitch_token = at_.Peek();
  const uint64_t pitch = at_.Bytes("a pitch: the bytes from one row to the next");
  at_.Expect("rows");
  const Token count_token = at_.Peek();
  const uint64_t count = at_.Number("a number of rows", kMaxBytes);
  if (count == 0) Refuse(count_token, "a number of rows above 0");
  std::optional<Shape> rows = Repeated(inside, pitch, count);
  if (pitch < inside.Span() || !rows) {
    Refuse(pitch_token, "a pitch of at least " + BytesText(inside.Span()));
  }
  return *rows;
}

void Parser::RefuseRows(const Target& target, const std::string& what) {
  if (target.rows) Refuse(target.token, what + " without gaps, so without 'pitch'");
}

void Parser::RefuseDeviceMemory(const Target& target) {
  if (!target.known || CpuCanTouch(target.access.memory)) return;
  Refuse(target.token, "a buffer in memory that the CPU can touch", "pinned, pageable or managed");
}

}  // namespace ss::litmus
