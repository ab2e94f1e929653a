#include "src/kernels/interpreter.h"

#include <algorithm>

namespace ss::kernels {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;
// A load of four or eight words may reach registers that the text does not name.
constexpr uint32_t kSpareRegisters = 8;
constexpr uint32_t kAddressBank = 4;   // addresses of symbols
constexpr uint32_t kConstantBank = 3;  // the module's own __constant__
// A little before the parameters an index may start counting.
constexpr uint32_t kTableSlack = 64;

bool Contains(std::span<const Tag> tags, Tag tag) {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

// Does `high` hold the upper word that belongs to the lower word `low`? The tables' steps may
// differ.
bool Pairs(Tag low, std::span<const Tag> high, TagKind plain, TagKind table) {
  for (Tag tag : high) {
    if ((tag.kind() == plain || tag.kind() == table) && tag.value() == low.value() + 4) return true;
  }
  return false;
}

bool IsRoot(Tag tag, std::span<const Tag> low, std::span<const Tag> high) {
  switch (tag.kind()) {
    case TagKind::kParam:
    case TagKind::kParamTable:
      return tag.value() % 8 == 0 && Pairs(tag, high, TagKind::kParam, TagKind::kParamTable);
    case TagKind::kConstantWord:
    case TagKind::kConstantTable:
      return tag.value() % 8 == 0 &&
             Pairs(tag, high, TagKind::kConstantWord, TagKind::kConstantTable);
    case TagKind::kLoaded:
      if (!Contains(high, tag.OtherHalf())) return false;
      if (tag.half() == 0) return true;
      // Pairs at odd words exist (packed structures), but only where no even one explains it.
      return std::none_of(low.begin(), low.end(), [](Tag one) {
        return one.kind() == TagKind::kLoaded && one.half() == 0;
      });
    case TagKind::kSymbol:
      return tag.half() == 0 && Contains(high, tag.OtherHalf());
    case TagKind::kParamAddress:
    case TagKind::kParamAddressAt:
    case TagKind::kParamAddressAny:
    case TagKind::kStack:
    case TagKind::kStackAt:
    case TagKind::kStackAny:
    case TagKind::kHeap:
      return true;
    case TagKind::kDriver:
      return std::any_of(high.begin(), high.end(),
                         [](Tag one) { return one.kind() == TagKind::kDriver; });
    default:
      return false;
  }
}

}  // namespace

Interpreter::Interpreter(const Code& code, const Cubin& cubin, const KernelInfo& kernel,
                         TagPool& pool)
    : code_(code), cubin_(cubin), kernel_(kernel), pool_(pool), machine_(MachineOf(cubin.arch)) {
  uniform_base_ = code.registers + kSpareRegisters;
  slots_ = uniform_base_ + code.uniform + kSpareRegisters;
}

SetId Interpreter::Get(Register reg) const {
  if (reg == kNoRegister) return kZeroSet;
  if (in_ && in_->guarded) {
    for (const GuardedValue& one : state_->guards()) {
      if (one.slot == Slot(reg) && one.guard == in_->guard) {
        return in_->guard_negated ? one.when_false : one.when_true;
      }
    }
  }
  return state_->Get(Slot(reg));
}

// "@P1 R2UR P0, UR4, R2" heads a loop over the different values that the threads of a warp hold.
// The loop goes on while any thread has P1, so UR4 is always written.
bool Interpreter::PicksForTheWarp(const Instruction& in) const {
  return in.op == OpClass::kMove && in.operand_count &&
         code_.Operands(in)[0].kind == OperandKind::kPredicate;
}

// Under a guard the old value stays possible; but for what runs under the same guard it is gone,
// and for the opposite guard nothing changed. Compilers write "@P0 MOV, @!P0 MOV" everywhere.
void Interpreter::Put(Register reg, SetId value) {
  if (reg == kNoRegister) return;
  std::vector<GuardedValue>& guards = state_->guards();
  uint32_t slot = static_cast<uint32_t>(Slot(reg));
  auto same = std::find_if(guards.begin(), guards.end(),
                           [&](const GuardedValue& one) { return one.slot == slot; });
  if (!in_->guarded || PicksForTheWarp(*in_)) {
    if (same != guards.end()) guards.erase(same);
    state_->Set(slot, value);
    return;
  }
  SetId old = state_->Get(slot);
  GuardedValue next{slot, in_->guard, old, old};
  if (same != guards.end() && same->guard == in_->guard) next = *same;
  (in_->guard_negated ? next.when_false : next.when_true) = value;
  if (same != guards.end())
    *same = next;
  else
    guards.push_back(next);
  state_->Set(slot, pool_.Join(next.when_true, next.when_false));
}

void Interpreter::PutWord(const Operand& destination, uint32_t word, SetId value) {
  if (destination.reg == kNoRegister) return;
  Put(static_cast<Register>(destination.reg + word), value);
}

// A predicate that is written anew says nothing about values chosen by the old one.
void Interpreter::DropGuards(const Instruction& in) {
  std::vector<GuardedValue>& guards = state_->guards();
  if (guards.empty()) return;
  if (in.opcode == "R2P") return guards.clear();  // many predicates at once
  Operands operands = code_.Operands(in);
  for (size_t i = 0; i < operands.size() && i < 3; ++i) {
    const Operand& one = operands[i];
    if (one.kind != OperandKind::kPredicate || one.negated || one.value == kTruePredicate) continue;
    std::erase_if(guards, [&](const GuardedValue& value) { return value.guard == one.value; });
  }
}

SetId Interpreter::SymbolTag(std::string_view name, uint32_t half) {
  auto found = std::find(symbols_.begin(), symbols_.end(), name);
  uint32_t index = static_cast<uint32_t>(found - symbols_.begin());
  if (found == symbols_.end()) symbols_.emplace_back(name);
  return pool_.Of(Tag::Halved(TagKind::kSymbol, index, half));
}

SetId Interpreter::ParamWord(uint32_t offset) { return pool_.Of(Tag(TagKind::kParam, offset)); }

SetId Interpreter::BankWord(uint32_t bank, uint32_t offset) {
  if (bank == kConstantBank) return pool_.Of(Tag(TagKind::kConstantWord, offset));
  if (bank == kAddressBank) {
    auto found = cubin_.addresses.find(offset & ~7u);
    return SymbolTag(found == cubin_.addresses.end() ? "?" : found->second, offset >> 2 & 1);
  }
  if (bank != 0) return kUnknown;
  uint32_t base = kernel_.param_base;
  if (base && offset >= base && offset < base + kernel_.param_size) return ParamWord(offset - base);
  if (offset == machine_.stack_pointer) return pool_.Of(Tag(TagKind::kStack, 0));
  bool old_address = cubin_.arch == 90 && (offset == 0xc0 || offset == 0xc4);
  if (offset == machine_.block_address || (old_address && offset == 0xc0)) {
    bool bank_start = machine_.address_is_bank || old_address;
    return pool_.Of(Tag(TagKind::kParamAddress, bank_start ? 0u - base : 0));
  }
  if (offset == machine_.block_address + 4 || old_address) {
    return pool_.Of(Tag(TagKind::kParamAddressHigh, 0));
  }
  if ((offset & ~4u) == machine_.local_window) return pool_.Of(Tag(TagKind::kLocalWindow, 0));
  if (machine_.shared_window && (offset & ~4u) == machine_.shared_window) {
    return pool_.Of(Tag(TagKind::kSharedWindow, 0));
  }
  if (offset == machine_.descriptor || offset == machine_.descriptor + 4) return kUnknown;
  return pool_.Of(Tag(TagKind::kDriver, offset));
}

// At an unknown index, in steps of `multiple`, from `offset`.
SetId Interpreter::BankWordAt(uint32_t bank, uint32_t offset, uint32_t multiple) {
  if (bank == kConstantBank) return pool_.Of(Tag(TagKind::kConstantTable, offset));
  if (bank == kAddressBank) return SymbolTag("?", offset >> 2 & 1);
  if (bank != 0) return kUnknown;
  uint32_t base = kernel_.param_base;
  if (!base || offset + kTableSlack < base) return pool_.Of(Tag(TagKind::kDriver, offset));
  return pool_.Of(Tag(TagKind::kParamTable, offset - base, multiple));
}

SetId Interpreter::IndexedBankWord(const Operand& operand, uint32_t word) {
  SetId result = kNothing;
  std::vector<Tag> index(pool_.Tags(Get(operand.reg)).begin(), pool_.Tags(Get(operand.reg)).end());
  for (Tag tag : index) {
    uint32_t offset = operand.value + 4 * word + (tag.IsNumber() ? tag.value() : 0);
    bool exact = tag.kind() == TagKind::kConst;
    SetId one = exact ? BankWord(operand.bank, offset)
                      : BankWordAt(operand.bank, offset, tag.IsNumber() ? tag.multiple() : 1);
    result = pool_.Join(result, one);
  }
  return result == kNothing ? BankWordAt(operand.bank, operand.value + 4 * word, 1) : result;
}

SetId Interpreter::Value(const Operand& operand, uint32_t word) {
  SetId value = kUnknown;
  switch (operand.kind) {
    case OperandKind::kRegister:
      value =
          operand.reg == kNoRegister ? kZeroSet : Get(static_cast<Register>(operand.reg + word));
      break;
    case OperandKind::kImmediate:
      return pool_.Const(word == 0 ? operand.value : (operand.value >> 31 ? 0xffffffff : 0));
    case OperandKind::kConstant:
      value = operand.has_index && operand.reg != kNoRegister
                  ? IndexedBankWord(operand, word)
                  : BankWord(operand.bank, operand.value + 4 * word);
      break;
    case OperandKind::kSymbol:
      // Code addresses of the section itself, for returns; no data lies there.
      if (operand.text.find("@srel") != operand.text.npos) return kUnknown;
      if (operand.text.find(".L_x") != operand.text.npos) return kUnknown;
      value = SymbolTag(operand.text, operand.value);
      break;
    default:
      return kUnknown;
  }
  return operand.negated ? pool_.Negate(value) : value;
}

Interpreter::Address Interpreter::AddressOf(const Operand& memory) {
  Address address{kNothing, kNothing, memory.value};
  for (int i = 0; i < memory.parts; ++i) {
    const MemoryPart& part = memory.part[i];
    SetId low = kUnknown, high = kUnknown;
    if (part.kind == MemoryPart::kConst) {
      low = BankWord(part.bank, part.value);
      high = BankWord(part.bank, part.value + 4);
    } else if (part.kind == MemoryPart::kReg) {
      low = Get(part.reg);
      bool has_high = part.reg != kNoRegister && !part.narrow;
      high = has_high ? Get(static_cast<Register>(part.reg + 1)) : kZeroSet;
    }
    address.low = i ? pool_.Add(address.low, low) : low;
    address.high = i ? pool_.Add(address.high, high) : high;
  }
  if (!memory.parts) address.low = address.high = kZeroSet;
  return address;
}

SetId Interpreter::RootsOf(SetId low, SetId high) {
  if (uint32_t known = roots_.Find(low, high); known != kAbsent) return known;
  std::span<const Tag> lows = pool_.Tags(low), highs = pool_.Tags(high);
  std::vector<Tag> found;
  for (Tag tag : lows) {
    if (IsRoot(tag, lows, highs)) found.push_back(tag);
  }
  Tag window(TagKind::kSharedWindow, 0);
  if (Contains(highs, window)) found.push_back(window);
  SetId roots = pool_.Intern(found);
  roots_.Insert(low, high, roots);
  return roots;
}

void Interpreter::ForgetCallerSaved() {
  state_->guards().clear();
  for (Register reg = 4; reg < 16; ++reg) state_->Set(reg, kUnknown);
}

void Interpreter::Step(uint32_t instruction) {
  at_ = instruction;
  const Instruction& in = code_.instructions[instruction];
  in_ = &in;
  DropGuards(in);
  Operands operands = code_.Operands(in);
  switch (in.op) {
    case OpClass::kNop:
    case OpClass::kNone:
    case OpClass::kTrap:
    case OpClass::kBranch:
    case OpClass::kBranchIndirect:
    case OpClass::kCall:
    case OpClass::kReturn:
    case OpClass::kExit:
    case OpClass::kSyncPoint:
    case OpClass::kSync:
    case OpClass::kWarp:
    case OpClass::kGridWait:
    case OpClass::kGridTrigger:
    case OpClass::kSpace:
      break;
    case OpClass::kParam:
      Param(in, operands);
      break;
    case OpClass::kLoad:
    case OpClass::kStore:
    case OpClass::kAtomic:
    case OpClass::kReduce:
      Global(in, operands);
      break;
    case OpClass::kLoadLocal:
    case OpClass::kStoreLocal:
      LocalAccess(in, operands);
      break;
    case OpClass::kLoadShared:
    case OpClass::kLoadMatrix:
    case OpClass::kStoreShared:
      SharedAccess(in, operands);
      break;
    case OpClass::kAsyncCopy:
      AsyncCopy(operands);
      break;
    case OpClass::kBulk:
      Bulk(in, operands);
      break;
    case OpClass::kTensor:
      Tensor(in, operands);
      break;
    case OpClass::kTexture:
      Texture(in, operands);
      break;
    case OpClass::kCache: {
      // A discard makes the bytes undefined: a write. Prefetches touch nothing that can race.
      auto memory = std::find_if(operands.begin(), operands.end(), [](const Operand& one) {
        return one.kind == OperandKind::kMemory;
      });
      bool discards = in.modifiers & kModDiscard;
      if (discards && memory != operands.end()) {
        Touch(AddressOf(*memory), kWrite, AccessKind::kMemory, 0);
      }
      break;
    }
    default:
      Arithmetic(in, operands);
  }
  in_ = nullptr;
}

}  // namespace ss::kernels
