// What one instruction does to the values: the transfer functions of the dataflow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/kernels/cubin.h"
#include "src/kernels/machine.h"
#include "src/kernels/sass.h"
#include "src/kernels/state.h"
#include "src/kernels/tag_set.h"

namespace ss::kernels {

enum Mode : uint8_t { kRead = 1, kWrite = 2, kUpdate = 4 };

enum class AccessKind : uint8_t { kMemory, kTensor, kTexture };

// What was found out about one access of one instruction, over all ways to reach it.
struct AccessSite {
  uint32_t instruction = 0;
  uint8_t modes = 0;
  AccessKind kind = AccessKind::kMemory;
  SetId roots = kNothing;
  SetId low = kNothing, high = kNothing;  // the halves of the address
  int32_t displacement = 0;               // that the instruction adds to it
  uint32_t bytes = 0;                     // of a plain load, store or atomic; 0: not known
};

class Interpreter {
 public:
  Interpreter(const Code& code, const Cubin& cubin, const KernelInfo& kernel, TagPool& pool);

  void BeginBlock(State* state) { state_ = state; }
  void Step(uint32_t instruction);

  size_t slots() const { return slots_; }
  SetId Get(Register reg) const;
  void SetPlain(Register reg, SetId value) { state_->Set(Slot(reg), value); }
  void ForgetCallerSaved();
  TagPool& pool() { return pool_; }

  // Pointers may travel through shared memory, which is one cell here.
  bool TakeSharedChanged() {
    bool changed = shared_changed_;
    shared_changed_ = false;
    return changed;
  }
  // Generic accesses that can only be to local memory (graph order has to be known to see that).
  void SetLocalOnly(std::vector<uint32_t> instructions) { local_only_ = std::move(instructions); }

  const std::map<std::pair<uint32_t, int>, AccessSite>& accesses() const { return accesses_; }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  struct Address {
    SetId low = kNothing, high = kNothing;
    uint32_t displacement = 0;
  };
  using Operands = std::span<const Operand>;

  // Values (interpreter.cc)
  size_t Slot(Register reg) const {
    return reg < kUniform ? reg : size_t(uniform_base_) + (reg - kUniform);
  }
  bool PicksForTheWarp(const Instruction& in) const;
  void Put(Register reg, SetId value);
  void PutWord(const Operand& destination, uint32_t word, SetId value);
  SetId Value(const Operand& operand, uint32_t word = 0);
  SetId BankWord(uint32_t bank, uint32_t offset);
  SetId BankWordAt(uint32_t bank, uint32_t offset, uint32_t multiple);
  SetId ParamWord(uint32_t offset);
  SetId IndexedBankWord(const Operand& operand, uint32_t word);
  Address AddressOf(const Operand& memory);
  SetId RootsOf(SetId low, SetId high);
  SetId SymbolTag(std::string_view name, uint32_t half);
  void DropGuards(const Instruction& in);

  // Memory (interpreter_memory.cc)
  SetId Touch(const Address& address, uint8_t modes, AccessKind kind, int slot);
  void Global(const Instruction& in, Operands operands);
  void LoadResults(const Instruction& in, Operands operands, size_t memory, SetId roots,
                   uint32_t displacement);
  void StoreValues(const Instruction& in, Operands operands, size_t memory, SetId roots,
                   uint32_t displacement);
  SetId Loaded(SetId roots, uint32_t displacement, uint32_t word, const Instruction& in);
  SetId LoadedFrom(Tag root, uint32_t displacement, uint32_t word);
  SetId Mixed(SetId value);
  SetId LoadLocal(SetId roots, uint32_t offset);
  void StoreLocal(SetId roots, uint32_t displacement, const std::vector<SetId>& values);
  void LocalAccess(const Instruction& in, Operands operands);
  void SharedAccess(const Instruction& in, Operands operands);
  void ToShared(SetId value);
  void CopyToShared(SetId roots);
  void AsyncCopy(Operands operands);
  void Bulk(const Instruction& in, Operands operands);
  void Tensor(const Instruction& in, Operands operands);
  void Texture(const Instruction& in, Operands operands);
  void Param(const Instruction& in, Operands operands);

  // Arithmetic (interpreter_alu.cc)
  void Arithmetic(const Instruction& in, Operands operands);
  void Compute(const Instruction& in, Operands operands);
  void ComputeValues(const Instruction& in, Operands words);
  void AddInto(const Instruction& in, const Operand& destination, Operands sources);
  SetId Difference(const Instruction& in, Operands sources, uint32_t word);
  void Mad(const Instruction& in, const Operand& destination, Operands sources);
  SetId Product(const Operand& a, const Operand& b);
  void Lea(const Instruction& in, const Operand& destination, Operands sources);
  void Select(const Instruction& in, const Operand& destination, Operands sources);
  void Logic(const Operand& destination, Operands sources);
  void Shift(const Instruction& in, const Operand& destination, Operands sources);
  void Permute(const Operand& destination, Operands sources);
  void Other(const Instruction& in, const Operand& destination);

  const Code& code_;
  const Cubin& cubin_;
  const KernelInfo& kernel_;
  TagPool& pool_;
  Machine machine_;
  uint32_t uniform_base_ = 0;
  size_t slots_ = 0;

  State* state_ = nullptr;
  uint32_t at_ = 0;
  const Instruction* in_ = nullptr;
  SetId shared_ = kNothing;
  bool shared_changed_ = false;
  std::vector<uint32_t> local_only_;
  PairMap roots_;
  std::map<std::pair<uint32_t, int>, AccessSite> accesses_;
  std::vector<std::string> symbols_;
};

}  // namespace ss::kernels
