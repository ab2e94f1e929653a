// Control flow of one kernel and of what it calls, as basic blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/kernels/cubin.h"
#include "src/kernels/sass.h"

namespace ss::kernels {

enum class EdgeKind : uint8_t {
  kNext,
  kCall,      // to the callee's first block; it comes back to Block::after
  kReturn,    // to wherever it was called from
  kExternal,  // a call of what is not in the code, or through a register; goes on at `block`
};

struct Edge {
  EdgeKind kind = EdgeKind::kNext;
  uint32_t block = 0;
};

struct Block {
  uint32_t first = 0;  // instructions first..last
  uint32_t last = 0;
  uint32_t after = kNoTarget;    // the block behind `last` in the text
  bool may_precede_wait = true;  // may run before the grid-dependency wait; true without one
  bool returns = false;
  std::vector<Edge> edges;
};

struct Function {
  uint32_t entry = 0;
  bool recursive = false;
  std::vector<uint32_t> return_sites;  // blocks
};

struct Graph {
  std::vector<Block> blocks;  // in the order of the text; `entry` is the kernel's first
  uint32_t entry = 0;
  std::vector<Function> functions;                  // called ones
  std::vector<std::vector<uint32_t>> functions_of;  // of a returning block: indexes in functions
  std::vector<uint32_t> candidates;                 // blocks that an indirect call may lead to
  std::vector<std::string> unresolved;
  bool waits = false;     // has a grid-dependency wait
  bool triggers = false;  // has launch-dependents
  uint32_t instructions = 0;
};

// Where the sections of a cubin are in the code: Cubin::text index -> Code::sections index.
using SectionMap = std::vector<uint32_t>;

// Keeps its working memory between kernels of the same code.
class GraphBuilder {
 public:
  GraphBuilder(const Code& code, const Cubin& cubin, const SectionMap& sections);
  Graph Build(const KernelInfo& kernel, uint32_t entry);

 private:
  struct Target {
    EdgeKind kind;
    uint32_t instruction;
  };

  void Explore(uint32_t entry);
  bool EndsBlock(const Instruction& in) const;
  void Targets(uint32_t index, std::vector<Target>& out);
  void BranchTargets(uint32_t index, bool may_fall, std::vector<Target>& out);
  void IndirectTargets(uint32_t index, std::vector<Target>& out);
  void CallTargets(uint32_t index, std::vector<Target>& out);
  void SyncTargets(uint32_t index, std::vector<Target>& out);
  const std::vector<uint32_t>& SyncPoints(uint32_t section);  // BSSY instructions
  uint32_t NextOf(uint32_t index) const;
  void Candidates(uint32_t section);
  void MakeBlocks(Graph& graph);
  void FindFunctions(Graph& graph);
  std::vector<bool> Members(const Graph& graph, uint32_t entry) const;
  void MarkBeforeWait(Graph& graph);
  uint32_t BlockAt(const Graph& graph, uint32_t instruction) const;

  const Code& code_;
  const Cubin& cubin_;
  const SectionMap& sections_;
  const KernelInfo* kernel_ = nullptr;
  std::vector<uint8_t> marks_;  // by instruction
  std::vector<uint32_t> touched_, leaders_, work_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> sync_points_;
  std::vector<uint32_t> callees_;     // instructions
  std::vector<uint32_t> candidates_;  // instructions
  std::vector<std::string> unresolved_;
  bool indirect_ = false;
};

}  // namespace ss::kernels
