// Reserved ranges: memory that is mapped and unmapped at their end, and blocks cut from it.
#include <algorithm>

#include "tests/random/generator.h"

namespace ss::random {
namespace {

constexpr int kUnits = 8;

std::string Bytes(int units) { return std::to_string(units * 4) + "K"; }

std::string Part(const std::string& name, int begin, int end) {
  return name + "[" + Bytes(begin) + ":" + Bytes(end) + "]";
}

}  // namespace

Generator::Range& Generator::AnyRange(bool segment) {
  for (Range& range : ranges_) {
    if (range.segment == segment) return range;
  }
  Range range;
  range.name = NewName(segment ? "S" : "R");
  range.segment = segment;
  Emit("reserve " + range.name + " " + Bytes(kUnits));
  if (!segment) {
    Buffer buffer;
    buffer.name = range.name;
    buffer.kind = "mapped";
    buffer.freed = true;
    range.buffer = buffers_.size();
    buffers_.push_back(buffer);
  }
  ranges_.push_back(range);
  return ranges_.back();
}

void Generator::Map() {
  Range& range = AnyRange(rng_.Percent(50));
  const int units = rng_.Between(1, 3);
  if (range.mapped + units > kUnits) return;
  EmitAnyHost("map " + Part(range.name, range.mapped, range.mapped + units) + " " + NewName("M") +
              (devices_ > 1 && rng_.Percent(30) ? " device 1" : ""));
  range.mapped += units;
  range.pieces.push_back(units);
  if (range.segment) return;
  buffers_[range.buffer].size = range.mapped;
  buffers_[range.buffer].freed = false;
}

// One or two pieces from the end, if no block is in the way.
void Generator::Unmap() {
  Range& range = AnyRange(rng_.Percent(50));
  int pieces = rng_.Between(1, 2), begin = range.mapped;
  if (static_cast<size_t>(pieces) > range.pieces.size()) return;
  for (int i = 0; i < pieces; ++i) begin -= range.pieces[range.pieces.size() - 1 - i];
  for (const auto& [block, at] : range.blocks) {
    if (!buffers_[block].freed && at + buffers_[block].size > begin) return;
  }
  EmitAnyHost("unmap " + Part(range.name, begin, range.mapped));
  range.pieces.resize(range.pieces.size() - pieces);
  range.mapped = begin;
  if (range.segment) return;
  // A use behind the end is of what was mapped once; without strays there is none.
  if (!rng_.Percent(profile_.strays)) buffers_[range.buffer].size = begin;
  buffers_[range.buffer].freed = begin == 0;
}

void Generator::AllocAt() {
  Range& range = AnyRange(true);
  if (range.mapped == 0) return Map();
  Buffer buffer;
  buffer.kind = "caching";
  buffer.size = rng_.Between(1, std::min(range.mapped, 3));
  buffer.taken = true;  // its bytes are given out again by place
  buffer.owner = AnyStream();
  const int at = rng_.Between(0, range.mapped - buffer.size);
  for (const auto& [block, begin] : range.blocks) {
    const Buffer& other = buffers_[block];
    const bool apart = at + buffer.size <= begin || begin + other.size <= at;
    if (other.freed || apart) continue;
    if (rng_.Percent(50)) FreeAt(block);
    return;
  }
  buffer.name = NewName("B");
  EmitAnyHost("alloc " + buffer.name + " " + Bytes(buffer.size) + " on " +
              streams_[buffer.owner].name + " at " + Part(range.name, at, at + buffer.size));
  range.blocks.emplace_back(buffers_.size(), at);
  buffers_.push_back(buffer);
  if (rng_.Percent(30)) EmitAnyHost("fill " + buffer.name);
}

}  // namespace ss::random
