#include "src/kernels/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss::kernels {
namespace {

constexpr uint8_t kVisited = 1;
constexpr uint8_t kLeader = 2;

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

const Operand* FirstOf(std::span<const Operand> operands, OperandKind kind) {
  for (const Operand& operand : operands) {
    if (operand.kind == kind) return &operand;
  }
  return nullptr;
}

bool HasCondition(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    bool predicate = operand.kind == OperandKind::kPredicate;
    if (predicate && operand.value != kTruePredicate) return true;
  }
  return false;
}

}  // namespace

GraphBuilder::GraphBuilder(const Code& code, const Cubin& cubin, const SectionMap& sections)
    : code_(code), cubin_(cubin), sections_(sections), marks_(code.instructions.size(), 0) {}

Graph GraphBuilder::Build(const KernelInfo& kernel, uint32_t entry) {
  kernel_ = &kernel;
  leaders_.clear();
  callees_.clear();
  candidates_.clear();
  unresolved_.clear();
  indirect_ = false;
  Explore(entry);
  if (indirect_) Candidates(code_.instructions[entry].section);
  for (size_t i = 0; i < candidates_.size(); ++i) Explore(candidates_[i]);
  Graph graph;
  graph.instructions = static_cast<uint32_t>(touched_.size());
  MakeBlocks(graph);
  graph.entry = BlockAt(graph, entry);
  for (uint32_t one : candidates_) graph.candidates.push_back(BlockAt(graph, one));
  FindFunctions(graph);
  MarkBeforeWait(graph);
  graph.unresolved = unresolved_;
  for (uint32_t index : touched_) marks_[index] = 0;
  touched_.clear();
  return graph;
}

uint32_t GraphBuilder::NextOf(uint32_t index) const {
  const CodeSection& section = code_.sections[code_.instructions[index].section];
  return index + 1 < section.first + section.count ? index + 1 : kNoTarget;
}

// Marks what can be reached and where blocks begin.
void GraphBuilder::Explore(uint32_t entry) {
  std::vector<Target> targets;
  work_.push_back(entry);
  while (!work_.empty()) {
    uint32_t index = work_.back();
    work_.pop_back();
    if (marks_[index] & kLeader) continue;
    leaders_.push_back(index);
    bool seen = marks_[index] & kVisited;
    marks_[index] |= kLeader;
    if (seen) continue;
    for (uint32_t first = index; index != kNoTarget; index = NextOf(index)) {
      if (index != first && marks_[index]) break;
      marks_[index] |= kVisited;
      touched_.push_back(index);
      if (!EndsBlock(code_.instructions[index])) continue;
      targets.clear();
      Targets(index, targets);
      for (const Target& target : targets) {
        if (target.kind != EdgeKind::kReturn) work_.push_back(target.instruction);
        if (target.kind == EdgeKind::kCall) {
          callees_.push_back(target.instruction);
          if (NextOf(index) != kNoTarget) work_.push_back(NextOf(index));
        }
      }
      break;
    }
  }
}

bool GraphBuilder::EndsBlock(const Instruction& in) const {
  switch (in.op) {
    case OpClass::kBranch:
    case OpClass::kBranchIndirect:
    case OpClass::kCall:
    case OpClass::kReturn:
    case OpClass::kExit:
    case OpClass::kSync:
    case OpClass::kGridWait:
      return true;
    case OpClass::kWarp:
      return FirstOf(code_.Operands(in), OperandKind::kLabel) != nullptr;
    default:
      return false;
  }
}

void GraphBuilder::Targets(uint32_t index, std::vector<Target>& out) {
  const Instruction& in = code_.instructions[index];
  std::span<const Operand> operands = code_.Operands(in);
  uint32_t next = NextOf(index);
  auto fall = [&] {
    if (next != kNoTarget) out.push_back({EdgeKind::kNext, next});
  };
  switch (in.op) {
    case OpClass::kBranch:
      BranchTargets(
          index, in.guarded || HasCondition(operands) || (in.modifiers & (kModDiv | kModAny)), out);
      return;
    case OpClass::kBranchIndirect:
      IndirectTargets(index, out);
      if (in.guarded) fall();
      return;
    case OpClass::kCall:
      CallTargets(index, out);
      if (in.guarded) fall();
      return;
    case OpClass::kReturn:
      out.push_back({EdgeKind::kReturn, 0});
      if (in.guarded) fall();
      return;
    case OpClass::kExit:
      if (in.guarded || HasCondition(operands)) fall();
      return;
    case OpClass::kSync:
      SyncTargets(index, out);
      return;
    case OpClass::kWarp:
      if (const Operand* label = FirstOf(operands, OperandKind::kLabel);
          label && label->target != kNoTarget) {
        out.push_back({EdgeKind::kNext, label->target});
      }
      fall();
      return;
    default:
      fall();
  }
}

void GraphBuilder::BranchTargets(uint32_t index, bool may_fall, std::vector<Target>& out) {
  const Instruction& in = code_.instructions[index];
  const Operand* label = FirstOf(code_.Operands(in), OperandKind::kLabel);
  if (label && label->target != kNoTarget) {
    out.push_back({EdgeKind::kNext, label->target});
  } else {
    unresolved_.push_back(fmt::format("branch at {:#x} leads nowhere known", in.pc));
  }
  if (may_fall && NextOf(index) != kNoTarget) out.push_back({EdgeKind::kNext, NextOf(index)});
}

// The disassembler's own list in ELF mode, else the attribute of the kernel.
void GraphBuilder::IndirectTargets(uint32_t index, std::vector<Target>& out) {
  const Instruction& in = code_.instructions[index];
  size_t before = out.size();
  for (std::string_view list = in.targets; !list.empty();) {
    size_t comma = list.find(',');
    auto found = code_.labels.find(list.substr(0, comma));
    if (found != code_.labels.end()) out.push_back({EdgeKind::kNext, found->second});
    list = comma == list.npos ? "" : list.substr(comma + 1);
  }
  bool own = code_.sections[in.section].first == code_.sections[sections_[kernel_->section]].first;
  for (const BranchTable& table : kernel_->branches) {
    if (!own || table.pc != in.pc || out.size() > before) continue;
    for (uint32_t pc : table.targets) {
      uint32_t target = code_.At(in.section, pc);
      if (target != kNoTarget) out.push_back({EdgeKind::kNext, target});
    }
  }
  if (out.size() == before) {
    unresolved_.push_back(fmt::format("indirect branch at {:#x} without a list of targets", in.pc));
  }
}

void GraphBuilder::CallTargets(uint32_t index, std::vector<Target>& out) {
  std::span<const Operand> operands = code_.Operands(code_.instructions[index]);
  bool by_register = FirstOf(operands, OperandKind::kRegister) != nullptr;
  const Operand* label = FirstOf(operands, OperandKind::kLabel);
  if (!by_register && label && label->target != kNoTarget) {
    out.push_back({EdgeKind::kCall, label->target});
    return;
  }
  indirect_ |= by_register;
  if (NextOf(index) != kNoTarget) out.push_back({EdgeKind::kExternal, NextOf(index)});
}

const std::vector<uint32_t>& GraphBuilder::SyncPoints(uint32_t section) {
  auto [found, is_new] = sync_points_.try_emplace(section);
  if (!is_new) return found->second;
  const CodeSection& in = code_.sections[section];
  for (uint32_t i = in.first; i < in.first + in.count; ++i) {
    if (code_.instructions[i].op == OpClass::kSyncPoint) found->second.push_back(i);
  }
  return found->second;
}

// A BSYNC goes on where its BSSY said; falling through as well would join the values of threads
// that never meet here, which showed as false writes in ragged kernels.
void GraphBuilder::SyncTargets(uint32_t index, std::vector<Target>& out) {
  const Instruction& in = code_.instructions[index];
  const Operand* barrier = FirstOf(code_.Operands(in), OperandKind::kBarrier);
  uint32_t next = NextOf(index);
  bool falls = false;
  size_t before = out.size();
  if (!barrier) {
    if (next != kNoTarget) out.push_back({EdgeKind::kNext, next});
    return;
  }
  for (uint32_t i : SyncPoints(in.section)) {
    const Instruction& other = code_.instructions[i];
    const Operand* its = FirstOf(code_.Operands(other), OperandKind::kBarrier);
    const Operand* label = FirstOf(code_.Operands(other), OperandKind::kLabel);
    if (!its || !label || label->target == kNoTarget || its->text != barrier->text) continue;
    falls |= label->target == next;
    out.push_back({EdgeKind::kNext, label->target});
  }
  if (falls) out.resize(before);  // the usual case: the point is right behind
  if (next != kNoTarget) out.push_back({EdgeKind::kNext, next});
}

// Functions of the module whose address may be in a register: those inside the kernel's own section
// and those with a section of their own that is no kernel's.
void GraphBuilder::Candidates(uint32_t section) {
  for (const DeviceFunction& function : cubin_.functions) {
    uint32_t its = sections_[function.section];
    bool kernel_text =
        std::any_of(cubin_.kernels.begin(), cubin_.kernels.end(),
                    [&](const KernelInfo& kernel) { return kernel.section == function.section; });
    if (its == kNoTarget || (its != section && kernel_text)) continue;
    uint32_t target = code_.At(its, function.offset);
    if (target != kNoTarget) candidates_.push_back(target);
  }
  SortUnique(candidates_);
}

uint32_t GraphBuilder::BlockAt(const Graph& graph, uint32_t instruction) const {
  auto found = std::lower_bound(graph.blocks.begin(), graph.blocks.end(), instruction,
                                [](const Block& block, uint32_t at) { return block.first < at; });
  if (found == graph.blocks.end() || found->first != instruction) return kNoTarget;
  return static_cast<uint32_t>(found - graph.blocks.begin());
}

void GraphBuilder::MakeBlocks(Graph& graph) {
  SortUnique(leaders_);
  for (uint32_t leader : leaders_) {
    Block block;
    block.first = block.last = leader;
    while (!EndsBlock(code_.instructions[block.last])) {
      uint32_t next = NextOf(block.last);
      if (next == kNoTarget || marks_[next] & kLeader) break;
      block.last = next;
    }
    for (uint32_t i = block.first; i <= block.last; ++i) {
      graph.waits |= code_.instructions[i].op == OpClass::kGridWait;
      graph.triggers |= code_.instructions[i].op == OpClass::kGridTrigger;
    }
    graph.blocks.push_back(std::move(block));
  }
  std::vector<Target> targets;
  std::vector<std::string> said = unresolved_;  // Targets() says its complaints a second time
  for (Block& block : graph.blocks) {
    targets.clear();
    uint32_t next = NextOf(block.last);
    if (EndsBlock(code_.instructions[block.last]))
      Targets(block.last, targets);
    else if (next != kNoTarget)
      targets.push_back({EdgeKind::kNext, next});
    block.after = next == kNoTarget ? kNoTarget : BlockAt(graph, next);
    for (const Target& target : targets) {
      block.returns |= target.kind == EdgeKind::kReturn;
      uint32_t to = target.kind == EdgeKind::kReturn ? 0 : BlockAt(graph, target.instruction);
      block.edges.push_back({target.kind, to});
    }
  }
  unresolved_ = std::move(said);
}

// Blocks of a function, calls stepped over.
std::vector<bool> GraphBuilder::Members(const Graph& graph, uint32_t entry) const {
  std::vector<bool> member(graph.blocks.size(), false);
  std::vector<uint32_t> work{entry};
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    if (at == kNoTarget || member[at]) continue;
    member[at] = true;
    for (const Edge& edge : graph.blocks[at].edges) {
      if (edge.kind == EdgeKind::kNext || edge.kind == EdgeKind::kExternal)
        work.push_back(edge.block);
      if (edge.kind == EdgeKind::kCall) work.push_back(graph.blocks[at].after);
    }
  }
  return member;
}

void GraphBuilder::FindFunctions(Graph& graph) {
  SortUnique(callees_);
  std::vector<uint32_t> entries;
  for (uint32_t callee : callees_) entries.push_back(BlockAt(graph, callee));
  entries.insert(entries.end(), graph.candidates.begin(), graph.candidates.end());
  SortUnique(entries);
  graph.functions_of.resize(graph.blocks.size());
  auto index_of = [&](uint32_t block) {
    return size_t(std::lower_bound(entries.begin(), entries.end(), block) - entries.begin());
  };
  for (uint32_t entry : entries) graph.functions.push_back({entry, false, {}});
  for (const Block& block : graph.blocks) {
    for (const Edge& edge : block.edges) {
      if (edge.kind == EdgeKind::kCall && block.after != kNoTarget) {
        graph.functions[index_of(edge.block)].return_sites.push_back(block.after);
      } else if (edge.kind == EdgeKind::kExternal) {
        for (uint32_t one : graph.candidates) {
          graph.functions[index_of(one)].return_sites.push_back(edge.block);
        }
      }
    }
  }
  std::vector<std::vector<bool>> calls(entries.size(), std::vector<bool>(entries.size(), false));
  for (size_t f = 0; f < entries.size(); ++f) {
    std::vector<bool> member = Members(graph, entries[f]);
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      if (!member[b]) continue;
      if (graph.blocks[b].returns) graph.functions_of[b].push_back(uint32_t(f));
      for (const Edge& edge : graph.blocks[b].edges) {
        if (edge.kind == EdgeKind::kCall) calls[f][index_of(edge.block)] = true;
        if (edge.kind != EdgeKind::kExternal) continue;
        for (uint32_t one : graph.candidates) calls[f][index_of(one)] = true;
      }
    }
  }
  size_t count = entries.size();
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < count; ++i) {
      if (!calls[i][k]) continue;
      for (size_t j = 0; j < count; ++j) calls[i][j] = calls[i][j] || calls[k][j];
    }
  }
  for (size_t f = 0; f < count; ++f) graph.functions[f].recursive = calls[f][f];
}

// Blocks that can be reached without passing an unconditional wait; the one with the wait is among
// them, since what stands before it in the block has not waited.
void GraphBuilder::MarkBeforeWait(Graph& graph) {
  if (!graph.waits) return;
  for (Block& block : graph.blocks) block.may_precede_wait = false;
  std::vector<uint32_t> work{graph.entry};
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    if (at == kNoTarget || graph.blocks[at].may_precede_wait) continue;
    Block& block = graph.blocks[at];
    block.may_precede_wait = true;
    const Instruction& last = code_.instructions[block.last];
    if (last.op == OpClass::kGridWait && !last.guarded) continue;
    for (const Edge& edge : block.edges) {
      if (edge.kind != EdgeKind::kReturn) work.push_back(edge.block);
    }
    for (uint32_t f : graph.functions_of[at]) {
      const std::vector<uint32_t>& sites = graph.functions[f].return_sites;
      work.insert(work.end(), sites.begin(), sites.end());
    }
    bool external = !block.edges.empty() && block.edges[0].kind == EdgeKind::kExternal;
    if (external) work.insert(work.end(), graph.candidates.begin(), graph.candidates.end());
  }
}

}  // namespace ss::kernels
