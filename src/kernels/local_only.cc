// Where a generic access cannot be to global memory. An atomic on a generic address is compiled to
// ATOM, which reports by a predicate that the address was not global, and to what stands in for it
// then: QSPC asks for the address space, loops on shared memory, a load and a store for local
// memory. Taken for accesses to the buffer, these would make every atomic a read and a write.
#include <algorithm>
#include <set>

#include "src/kernels/patterns.h"

namespace ss::kernels {
namespace {

// The register that a memory operand starts with.
Register AddressRegister(const Code& code, const Instruction& in) {
  for (const Operand& one : code.Operands(in)) {
    if (one.kind == OperandKind::kMemory && one.parts) return one.part[0].reg;
  }
  return kNoRegister;
}

// Does `in` write either half of the address? A move of a register to itself does not.
bool Overwrites(const Code& code, const Instruction& in, Register address) {
  std::span<const Operand> operands = code.Operands(in);
  if (operands.empty() || in.op == OpClass::kStore || in.op == OpClass::kStoreShared) return false;
  for (const Operand& one : operands) {
    if (one.kind == OperandKind::kMemory) break;
    if (one.kind != OperandKind::kRegister) continue;
    bool self = in.op == OpClass::kMove && operands.size() == 2 &&
                operands[1].kind == OperandKind::kRegister && operands[1].reg == one.reg;
    bool wide = in.op == OpClass::kDouble || in.modifiers & (kMod64 | kModWide);
    Register words = std::max<Register>(wide ? 2 : 1, static_cast<Register>(WordsOf(in.modifiers)));
    if (!self && one.reg != kNoRegister && one.reg <= address + 1 && address < one.reg + words) {
      return true;
    }
    if (in.op != OpClass::kLoad && in.op != OpClass::kLoadShared) break;
  }
  return false;
}

// Blocks that are reached through `query` alone.
std::set<uint32_t> RegionOf(const BlockEdges& next, const BlockEdges& previous, uint32_t query) {
  std::set<uint32_t> region;
  std::vector<uint32_t> work = next[query];
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    if (at == query || !region.insert(at).second) continue;
    work.insert(work.end(), next[at].begin(), next[at].end());
  }
  for (bool changed = true; changed;) {
    changed =
        std::erase_if(region, [&](uint32_t block) {
          return std::any_of(previous[block].begin(), previous[block].end(),
                             [&](uint32_t from) { return from != query && !region.count(from); });
        }) > 0;
  }
  return region;
}

class Region {
 public:
  Region(const Code& code, const Graph& graph, const BlockEdges& next, std::set<uint32_t> blocks,
         Register address)
      : code_(code), graph_(graph), next_(next), blocks_(std::move(blocks)), address_(address) {}

  void Collect(std::vector<uint32_t>& out) {
    for (uint32_t block : blocks_) {
      if (Overwritten(block)) Spread(block);
    }
    for (uint32_t block : blocks_) {
      if (!dirty_.count(block)) Accesses(graph_.blocks[block], out);
    }
  }

 private:
  bool Overwritten(uint32_t block) const {
    const Block& in = graph_.blocks[block];
    for (uint32_t i = in.first; i <= in.last; ++i) {
      if (Overwrites(code_, code_.instructions[i], address_)) return true;
    }
    return false;
  }

  // What follows a block in which the address is overwritten holds something else.
  void Spread(uint32_t block) {
    std::vector<uint32_t> work = next_[block];
    while (!work.empty()) {
      uint32_t at = work.back();
      work.pop_back();
      if (!blocks_.count(at) || !dirty_.insert(at).second) continue;
      work.insert(work.end(), next_[at].begin(), next_[at].end());
    }
  }

  void Accesses(const Block& block, std::vector<uint32_t>& out) const {
    for (uint32_t i = block.first; i <= block.last; ++i) {
      const Instruction& in = code_.instructions[i];
      bool generic = in.opcode == "LD" || in.opcode == "ST" || in.opcode == "ATOM";
      if (generic && AddressRegister(code_, in) == address_) out.push_back(i);
      if (Overwrites(code_, in, address_)) return;
    }
  }

  const Code& code_;
  const Graph& graph_;
  const BlockEdges& next_;
  std::set<uint32_t> blocks_;
  std::set<uint32_t> dirty_;
  Register address_;
};

// Does `block` end with a branch that is taken unless an ATOM in it found its address not to be
// global?
bool EndsWithFailedAtomic(const Code& code, const Block& block, Register address) {
  const Instruction& last = code.instructions[block.last];
  if (last.op != OpClass::kBranch || !last.guarded || last.guard_negated) return false;
  for (uint32_t i = block.last; i-- > block.first;) {
    const Instruction& in = code.instructions[i];
    bool atomic = in.opcode == "ATOM" && AddressRegister(code, in) == address && in.operand_count;
    if (atomic) {
      const Operand& predicate = code.Operands(in)[0];
      return predicate.kind == OperandKind::kPredicate && predicate.value == last.guard;
    }
    if (Overwrites(code, in, address)) return false;
  }
  return false;
}

// The address that `block` asks for the space of before it branches; kNoRegister where it does not.
Register Queried(const Code& code, const Block& block) {
  const Instruction& last = code.instructions[block.last];
  if (block.last == block.first || last.op != OpClass::kBranch || !last.guarded) return kNoRegister;
  for (uint32_t i = block.first; i < block.last; ++i) {
    const Instruction& query = code.instructions[i];
    if (query.op == OpClass::kSpace && query.operand_count) return AddressRegister(code, query);
  }
  return kNoRegister;
}

}  // namespace

std::vector<uint32_t> LocalOnlyAccesses(const Code& code, const Graph& graph) {
  std::vector<uint32_t> found;
  BlockEdges next, previous;
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    Register address = Queried(code, graph.blocks[b]);
    if (address == kNoRegister) continue;
    if (next.empty()) previous = Reverse(next = Successors(graph));
    bool failed = previous[b].size() == 1 &&
                  EndsWithFailedAtomic(code, graph.blocks[previous[b][0]], address);
    if (!failed) continue;
    Region(code, graph, next, RegionOf(next, previous, b), address).Collect(found);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ss::kernels
