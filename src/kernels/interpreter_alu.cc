// Arithmetic: what keeps a pointer (addition with coefficient 1, selection, alignment by a mask)
// and what makes a number of it (shifts, products, narrow permutations).
#include <algorithm>
#include <array>

#include "src/kernels/half.h"
#include "src/kernels/interpreter.h"

namespace ss::kernels {
namespace {

// Of the bits 16-31, so many have to survive a LOP3 for its result to still be that pointer.
constexpr int kMinSurvivingBits = 12;

struct LogicInput {
  SetId value = kNothing;
  bool known = false;
  uint32_t bits = 0;
};

bool Lut(uint32_t lut, bool a, bool b, bool c) { return lut >> (a * 4 + b * 2 + c) & 1; }

// Can bit `bit` of the result depend on input `which`, given the inputs that are constants?
bool Depends(uint32_t lut, const std::array<LogicInput, 3>& inputs, int which, int bit) {
  for (int rest = 0; rest < 4; ++rest) {
    bool value[3] = {};
    bool possible = true;
    for (int i = 0, n = 0; i < 3; ++i) {
      if (i == which) continue;
      value[i] = rest >> n++ & 1;
      possible &= !inputs[i].known || value[i] == (inputs[i].bits >> bit & 1);
    }
    if (!possible) continue;
    value[which] = false;
    bool low = Lut(lut, value[0], value[1], value[2]);
    value[which] = true;
    if (low != Lut(lut, value[0], value[1], value[2])) return true;
  }
  return false;
}

// How many of the lowest bits are 0 whatever the inputs hold that are not constants ("i & 0x10").
int LowZeros(uint32_t lut, const std::array<LogicInput, 3>& inputs) {
  for (int bit = 0; bit < 32; ++bit) {
    for (int values = 0; values < 8; ++values) {
      bool possible = true;
      for (int i = 0; i < 3; ++i) {
        possible &= !inputs[i].known || (values >> (2 - i) & 1) == (inputs[i].bits >> bit & 1);
      }
      if (possible && (lut >> values & 1)) return bit;
    }
  }
  return 32;
}

bool IsValue(const Operand& operand) {
  return operand.kind == OperandKind::kRegister || operand.kind == OperandKind::kConstant ||
         operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kSymbol;
}

bool IsImmediate(const Operand& operand, uint32_t value) {
  return operand.kind == OperandKind::kImmediate && operand.value == value;
}

}  // namespace

// Whatever is computed from a difference of pointers, by shifts, by the division that makes an
// index of it or by their conversions, may turn into it again.
void Interpreter::Arithmetic(const Instruction& in, Operands operands) {
  SetId marks = kNothing;
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].kind != OperandKind::kRegister || operands[i].reg == kNoRegister) continue;
    for (uint32_t w = 0; w < 2; ++w) {
      SetId value = Get(static_cast<Register>(operands[i].reg + w));
      if (pool_.HasMark(value)) marks = pool_.Join(marks, pool_.MarksOf(value));
    }
  }
  Compute(in, operands);
  if (marks == kNothing || operands[0].kind != OperandKind::kRegister) return;
  bool wide = in.op == OpClass::kDouble || in.modifiers & (kMod64 | kModWide);
  for (uint32_t w = 0; w < (wide ? 2u : 1u); ++w) {
    PutWord(operands[0], w, pool_.Join(Value(operands[0], w), marks));
  }
}

void Interpreter::Compute(const Instruction& in, Operands operands) {
  // The destination, then the sources: predicates among them say nothing about values.
  bool plain = std::none_of(operands.begin(), operands.end(),
                            [](const Operand& one) { return one.kind == OperandKind::kPredicate; });
  if (plain) return ComputeValues(in, operands);
  std::array<Operand, 8> words;
  size_t count = 0;
  for (const Operand& one : operands) {
    if (one.kind != OperandKind::kPredicate && count < words.size()) words[count++] = one;
  }
  ComputeValues(in, Operands(words.data(), count));
}

void Interpreter::ComputeValues(const Instruction& in, Operands words) {
  if (words.empty() || words[0].kind != OperandKind::kRegister) return;
  const Operand& destination = words[0];
  Operands sources = words.subspan(1);
  switch (in.op) {
    case OpClass::kMove:
      if (sources.empty()) break;
      for (uint32_t w = 0; w < (in.modifiers & kMod64 ? 2u : 1u); ++w) {
        PutWord(destination, w, Value(sources[0], w));
      }
      return;
    case OpClass::kAdd:
      return AddInto(in, destination, sources);
    case OpClass::kMad:
      return Mad(in, destination, sources);
    case OpClass::kLea:
      return Lea(in, destination, sources);
    case OpClass::kSelect:
      return Select(in, destination, sources);
    case OpClass::kLogic:
      return Logic(destination, sources);
    case OpClass::kShuffle:
      return PutWord(destination, 0, sources.empty() ? kUnknown : Value(sources[0]));
    case OpClass::kPermute:
      return Permute(destination, sources);
    case OpClass::kShift:
      return Shift(in, destination, sources);
    case OpClass::kSpecialReg: {
      std::string_view name = sources.empty() ? "" : sources[0].text;
      SetId value = name == "SRZ" ? kZeroSet : kUnknown;
      if (name.find("SWIN") != name.npos) value = pool_.Of(Tag(TagKind::kSharedWindow, 0));
      PutWord(destination, 0, value);
      if (in.opcode == "CS2R" && !(in.modifiers & kMod32)) PutWord(destination, 1, value);
      return;
    }
    case OpClass::kHalf: {
      uint16_t high = 0, low = 0;
      bool constant = sources.size() >= 4 && sources[0].kind == OperandKind::kRegister &&
                      sources[0].reg == kNoRegister && sources[1].kind == OperandKind::kRegister &&
                      sources[1].reg == kNoRegister && ParseHalf(sources[2].text, &high) &&
                      ParseHalf(sources[3].text, &low);
      uint32_t bits = uint32_t(high) << 16 | low;
      return PutWord(destination, 0, constant ? pool_.Const(bits) : kUnknown);
    }
    default:
      break;
  }
  Other(in, destination);
}

// Writes one number, or two words of one.
void Interpreter::Other(const Instruction& in, const Operand& destination) {
  bool converts = in.opcode == "I2F" || in.opcode == "F2F" || in.opcode == "FRND";
  bool integer = in.opcode == "F2I";
  bool wide = in.op == OpClass::kDouble || in.modifiers & (kMod64 | kModWide) ||
              (converts && in.mods.starts_with("F64")) ||
              (integer && (in.mods.starts_with("S64") || in.mods.starts_with("U64")));
  PutWord(destination, 0, kUnknown);
  if (wide) PutWord(destination, 1, kUnknown);
}

void Interpreter::AddInto(const Instruction& in, const Operand& destination, Operands sources) {
  uint32_t words = in.modifiers & kMod64 ? 2 : 1;
  SetId results[2] = {kUnknown, kUnknown};
  for (uint32_t w = 0; w < words; ++w) {
    SetId sum = kNothing;
    bool first = true;
    for (const Operand& one : sources) {
      if (!IsValue(one)) continue;
      SetId value = Value(one, w);
      sum = first ? value : pool_.Add(sum, value);
      first = false;
    }
    results[w] = first ? kUnknown : pool_.Join(sum, Difference(in, sources, w));
  }
  for (uint32_t w = 0; w < words; ++w) PutWord(destination, w, results[w]);
}

// a - b with both possibly pointers: "a[b - a + i]" leads into b, which a set of tags cannot say.
// The tag marks what was subtracted; whether that word is a pointer shows at the launch.
SetId Interpreter::Difference(const Instruction& in, Operands sources, uint32_t word) {
  if (in.modifiers & kModX || word) return kNothing;
  std::vector<Tag> plus, minus, marks;
  bool any_negated = std::any_of(sources.begin(), sources.end(), [](const Operand& one) {
    return one.negated && one.kind != OperandKind::kImmediate;
  });
  if (!any_negated) return kNothing;
  for (const Operand& one : sources) {
    if (one.kind != OperandKind::kRegister && one.kind != OperandKind::kConstant) continue;
    Operand bare = one;
    bare.negated = false;
    for (Tag tag : pool_.Tags(Value(bare))) {
      bool param = tag.kind() == TagKind::kParam && tag.value() % 8 == 0 &&
                   tag.value() + 4 < kernel_.param_size;
      bool table = tag.kind() == TagKind::kParamTable;
      bool loaded = tag.kind() == TagKind::kLoaded && tag.half() == 0;
      if (param || table || loaded) (one.negated ? minus : plus).push_back(tag.Unmoved());
    }
  }
  if (plus.empty() || minus.empty() || plus == minus) return kNothing;
  for (Tag tag : minus) {
    bool known = tag.kind() == TagKind::kParam;
    marks.push_back(Tag(TagKind::kDifference, known ? tag.value() : kNoTarget));
  }
  return pool_.Intern(marks);
}

SetId Interpreter::Product(const Operand& a, const Operand& b) {
  SetId left = Value(a), right = Value(b);
  uint32_t x = 0, y = 0;
  bool left_known = pool_.AsConst(left, &x), right_known = pool_.AsConst(right, &y);
  if (left_known && right_known) return pool_.Const(x * y);
  if (left_known && x == 1 && !a.negated) return right;
  if (right_known && y == 1 && !b.negated) return left;
  if (left_known) return pool_.Multiple(right, x);
  if (right_known) return pool_.Multiple(left, y);
  return kUnknown;
}

void Interpreter::Mad(const Instruction& in, const Operand& destination, Operands sources) {
  if (sources.size() < 3 || in.modifiers & kModHi) {
    PutWord(destination, 0, kUnknown);
    if (in.modifiers & kModWide) PutWord(destination, 1, kUnknown);
    return;
  }
  SetId product = Product(sources[0], sources[1]);
  SetId low = pool_.Add(product, Value(sources[2]));
  if (IsImmediate(sources[1], 1)) {
    std::array<Operand, 2> added = {sources[0], sources[2]};
    low = pool_.Join(low, Difference(in, added, 0));
  }
  if (!(in.modifiers & kModWide)) return PutWord(destination, 0, low);
  SetId carry = product == kZeroSet ? kZeroSet : kUnknown;
  SetId high = pool_.Add(carry, Value(sources[2], 1));
  PutWord(destination, 0, low);
  PutWord(destination, 1, high);
}

// LEA Rd, Ra, Rb, shift: (Ra << shift) + Rb. LEA.HI Rd, Ra, Rb, Rc, shift: its upper word.
void Interpreter::Lea(const Instruction& in, const Operand& destination, Operands sources) {
  uint32_t shift = 1;
  if (!sources.empty() && sources.back().kind == OperandKind::kImmediate)
    shift = sources.back().value;
  if (sources.size() < 2) return PutWord(destination, 0, kUnknown);
  const Operand& a = sources[0];
  const Operand& b = sources[1];
  SetId shifted = shift == 0 ? Value(a) : pool_.Multiple(Value(a), shift < 32 ? 1u << shift : 0);
  if (in.modifiers & kMod64) {
    SetId low = pool_.Add(shifted, Value(b, 0));
    SetId high = pool_.Add(shift == 0 ? Value(a, 1) : kUnknown, Value(b, 1));
    PutWord(destination, 0, low);
    PutWord(destination, 1, high);
  } else if (in.modifiers & kModHi) {
    bool whole = shift == 0 && sources.size() >= 4 && !(in.modifiers & kModSx32);
    SetId high = whole ? Value(sources[2]) : kUnknown;
    PutWord(destination, 0, pool_.Add(high, Value(b)));
  } else {
    PutWord(destination, 0, pool_.Add(shifted, Value(b)));
  }
}

void Interpreter::Select(const Instruction& in, const Operand& destination, Operands sources) {
  uint32_t words = in.modifiers & kMod64 ? 2 : 1;
  SetId results[2] = {kUnknown, kUnknown};
  for (uint32_t w = 0; w < words; ++w) {
    SetId value = kNothing;
    for (size_t i = 0; i < sources.size() && i < 2; ++i) {
      value = pool_.Join(value, Value(sources[i], w));
    }
    results[w] = value == kNothing ? kUnknown : value;
  }
  for (uint32_t w = 0; w < words; ++w) PutWord(destination, w, results[w]);
}

void Interpreter::Logic(const Operand& destination, Operands sources) {
  if (sources.size() < 4 || sources[3].kind != OperandKind::kImmediate) {
    return PutWord(destination, 0, kUnknown);
  }
  uint32_t lut = sources[3].value;
  std::array<LogicInput, 3> inputs;
  for (int i = 0; i < 3; ++i) {
    inputs[i].value = Value(sources[i]);
    inputs[i].known = pool_.AsConst(inputs[i].value, &inputs[i].bits);
  }
  if (inputs[0].known && inputs[1].known && inputs[2].known) {
    uint32_t result = 0;
    for (int bit = 0; bit < 32; ++bit) {
      result |= uint32_t(Lut(lut, inputs[0].bits >> bit & 1, inputs[1].bits >> bit & 1,
                             inputs[2].bits >> bit & 1))
                << bit;
    }
    return PutWord(destination, 0, pool_.Const(result));
  }
  const int zeros = LowZeros(lut, inputs);
  SetId result = zeros == 0 ? kUnknown : pool_.Multiple(kUnknown, zeros < 32 ? 1u << zeros : 0);
  for (int i = 0; i < 3; ++i) {
    if (inputs[i].known || !pool_.HasPointer(inputs[i].value)) continue;
    int surviving = 0;
    for (int bit = 16; bit < 32; ++bit) surviving += Depends(lut, inputs, i, bit);
    if (surviving < kMinSurvivingBits) continue;
    // Of two that survive, the result is a mixture and need not be either ("a ^ b").
    for (int other = 0; other < i; ++other) pool_.NoteSum(inputs[other].value, inputs[i].value);
    result = pool_.Join(result, pool_.PointersOnly(inputs[i].value));
  }
  PutWord(destination, 0, result);
}

void Interpreter::Permute(const Operand& destination, Operands sources) {
  constexpr uint32_t kFirst = 0x3210, kSecond = 0x7654;
  SetId value = kUnknown;
  if (sources.size() >= 2 && sources[1].kind == OperandKind::kImmediate) {
    uint32_t selector = sources[1].value & 0xffff;
    if (selector == kFirst) value = Value(sources[0]);
    if (selector == kSecond && sources.size() > 2) value = Value(sources[2]);
  }
  PutWord(destination, 0, value);
}

void Interpreter::Shift(const Instruction& in, const Operand& destination, Operands sources) {
  SetId value = sources.empty() ? kUnknown : pool_.NumberOf(Value(sources[0]));
  bool by_constant = sources.size() >= 2 && sources[1].kind == OperandKind::kImmediate;
  bool left = in.modifiers & kModLeft;
  if (by_constant && sources[1].value == 0) {
    value = Value(sources[0]);
  } else if (by_constant && !(in.modifiers & kModHi) && sources[1].value < 32) {
    bool alone = sources.size() < 3 || Value(sources[2]) == kZeroSet;
    uint32_t bits = 0, shift = sources[1].value;
    bool known = pool_.AsConst(Value(sources[0]), &bits);
    if (left && alone) value = pool_.Multiple(Value(sources[0]), 1u << shift);
    if (!left && alone && known && in.modifiers & kModU32) value = pool_.Const(bits >> shift);
  }
  PutWord(destination, 0, value);
}

}  // namespace ss::kernels
