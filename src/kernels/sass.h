// Machine code as nvdisasm prints it, parsed: instructions with resolved operands and labels. Views
// point into the text, which the Code owns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"

namespace ss::kernels {

constexpr uint32_t kInstructionBytes = 16;  // sm_70 and later

enum class OpClass : uint8_t {
  kOther,
  kLoad,
  kStore,
  kAtomic,
  kReduce,
  kLoadLocal,
  kStoreLocal,
  kLoadShared,
  kLoadMatrix,
  kStoreShared,
  kParam,
  kMove,
  kAdd,
  kMad,
  kLea,
  kSelect,
  kLogic,
  kShuffle,
  kPermute,
  kShift,
  kSpecialReg,
  kHalf,
  kDouble,
  kAsyncCopy,
  kBulk,
  kTensor,
  kCache,
  kTexture,
  kBranch,
  kBranchIndirect,
  kCall,
  kReturn,
  kExit,
  kTrap,
  kSyncPoint,
  kSync,
  kWarp,
  kGridWait,
  kGridTrigger,
  kSpace,
  kNop,
  kNone,
};

// Modifiers that matter to the analysis, one bit each.
enum Modifier : uint32_t {
  kMod64 = 1 << 0,
  kMod96 = 1 << 1,
  kMod128 = 1 << 2,
  kMod256 = 1 << 3,
  kModWide = 1 << 4,
  kModHi = 1 << 5,
  kModX = 1 << 6,
  kModShl = 1 << 7,
  kModLeft = 1 << 8,
  kModRight = 1 << 9,
  kModU32 = 1 << 10,
  kModNarrow = 1 << 11,  // 8 or 16 bits
  kModSx32 = 1 << 12,
  kModAny = 1 << 13,
  kModDiv = 1 << 14,  // DIV, CONV: a branch that may fall through
  kModUniform = 1 << 15,
  kModStrong = 1 << 16,
  kModGpu = 1 << 17,      // scope GPU
  kModSys = 1 << 18,      // scope SYS
  kModDiscard = 1 << 19,  // RML2, DML2
  kModTrap = 1 << 20,
  kMod32 = 1 << 21,
  kMod4 = 1 << 22,
  kMod2 = 1 << 23,
};

// R0..R254 are 0..254, UR0.. start at kUniform; the zero register is kNoRegister.
using Register = uint16_t;
constexpr Register kNoRegister = 0xffff;
constexpr Register kUniform = 256;
constexpr Register kMaxRegister = kUniform + 256;

enum class OperandKind : uint8_t {
  kRegister,
  kPredicate,
  kImmediate,
  kConstant,
  kMemory,
  kLabel,
  kSymbol,
  kBarrier,
  kOther,
};

struct MemoryPart {
  enum Kind : uint8_t { kReg, kConst, kStrange } kind = kReg;
  bool narrow = false;  // .U32/.S32: the high half is not in the next register
  uint8_t bank = 0;
  Register reg = kNoRegister;
  uint32_t value = 0;  // kConst: offset in the bank
};

struct Operand {
  OperandKind kind = OperandKind::kOther;
  bool negated = false;    // - or ~; for predicates: !
  bool has_index = false;  // kConstant: c[bank][reg + value], reg may be the zero register
  uint8_t bank = 0;        // kConstant
  uint8_t parts = 0;       // kMemory: how many of `part`
  Register reg = kNoRegister;
  uint32_t value = 0;   // immediate; number of a predicate; bank offset; memory displacement; half
                        // of a symbol's address
  uint32_t target = 0;  // kLabel: index of an instruction, kNoTarget when it leads elsewhere
  MemoryPart part[3];
  std::string_view text;  // as written; kLabel, kSymbol: the name
};

constexpr uint32_t kTruePredicate = 255;
constexpr uint32_t kNoTarget = 0xffffffff;

struct Instruction {
  uint32_t pc = 0;  // bytes from the start of its section
  uint32_t modifiers = 0;
  OpClass op = OpClass::kOther;
  bool guarded = false;  // runs under a predicate other than PT
  bool guard_negated = false;
  uint8_t guard = 0;  // 0-7 P, 8-15 UP
  uint16_t operand_count = 0;
  uint32_t first_operand = 0;
  uint32_t section = 0;
  std::string_view opcode;   // up to the first dot
  std::string_view mods;     // what follows the first dot, "" when nothing
  std::string_view line;     // for messages
  std::string_view targets;  // BRANCH_TARGETS, comma-separated labels
};

struct CodeSection {
  std::string name;  // ".text.KERNEL"
  uint32_t first = 0;
  uint32_t count = 0;
};

// A piece of what raw mode was given.
struct RawPiece {
  std::string section;
  uint64_t offset = 0;  // bytes
  uint64_t size = 0;
};

class Code {
 public:
  std::span<const Operand> Operands(const Instruction& in) const {
    return {operands.data() + in.first_operand, in.operand_count};
  }
  // The index of a section, kNoTarget when it is not there.
  uint32_t Find(const std::string& section) const;
  // The instruction at `pc` of a section, kNoTarget when there is none.
  uint32_t At(uint32_t section, uint64_t pc) const;

  std::shared_ptr<const std::string> text;
  std::vector<Instruction> instructions;
  std::vector<Operand> operands;
  std::vector<CodeSection> sections;
  std::unordered_map<std::string_view, uint32_t> labels;  // to an instruction
  std::unordered_map<std::string, uint32_t> by_name;      // sections
  Register registers = 0;  // one more than the highest plain register
  Register uniform = 0;    // the same of UR, 0-based
};

// ELF mode. Errors: no instruction in it, a line that looks like one and is not understood.
Result<Code> ParseElfText(std::shared_ptr<const std::string> text, std::string place);

// Raw mode of pieces put one after the other; addresses become relative to their piece.
Result<Code> ParseRawText(std::shared_ptr<const std::string> text, std::span<const RawPiece> pieces,
                          std::string place);

// The words of a register list, of a load or a store: 1, 2, 3, 4 or 8.
uint32_t WordsOf(uint32_t modifiers);

}  // namespace ss::kernels
