#include "src/kernels/sass_operand.h"

#include <cctype>
#include <charconv>

namespace ss::kernels {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "R12", "URZ", "R3.64" from the front of `text`; `rest` is what follows the number.
bool ParseRegister(std::string_view text, Register* reg, std::string_view* rest) {
  Register base = 0;
  if (text.starts_with("UR")) {
    base = kUniform;
    text.remove_prefix(1);
  }
  if (text.size() < 2 || text[0] != 'R') return false;
  text.remove_prefix(1);
  if (text[0] == 'Z') {
    *reg = kNoRegister;
    *rest = text.substr(1);
    return true;
  }
  unsigned number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > 254) return false;
  *reg = static_cast<Register>(base + number);
  *rest = text.substr(end - text.data());
  return rest->empty() || !std::isalpha(static_cast<unsigned char>((*rest)[0]));
}

// P0-P7 are 0-7, UP0-UP7 are 8-15.
bool ParsePredicate(std::string_view text, uint32_t* number) {
  if (text.starts_with('!')) text.remove_prefix(1);
  bool uniform = text.starts_with('U');
  if (uniform) text.remove_prefix(1);
  if (text.size() != 2 || text[0] != 'P') return false;
  *number = text[1] == 'T' ? kTruePredicate : uint32_t(text[1] - '0') + (uniform ? 8 : 0);
  return text[1] == 'T' || IsDigit(text[1]);
}

// c[0x0][0x210], c[0x0][R3+0x210], c[0x3][R3]
bool ParseConstant(std::string_view text, Operand* out) {
  if (!text.starts_with("c[")) return false;
  size_t close = text.find(']');
  int64_t bank = 0, offset = 0;
  if (close == text.npos || !ParseInteger(text.substr(2, close - 2), &bank)) return false;
  if (close + 1 >= text.size() || text[close + 1] != '[') return false;
  std::string_view inside = text.substr(close + 2);
  size_t end = inside.find(']');
  if (end == inside.npos) return false;
  inside = inside.substr(0, end);
  std::string_view rest = inside;
  if (ParseRegister(inside, &out->reg, &rest)) {
    out->has_index = true;
    size_t plus = rest.find_first_of("+-");
    rest = plus == rest.npos ? "" : rest.substr(rest[plus] == '+' ? plus + 1 : plus);
  }
  if (!rest.empty() && !ParseInteger(rest, &offset)) return false;
  out->kind = OperandKind::kConstant;
  out->bank = static_cast<uint8_t>(bank);
  out->value = static_cast<uint32_t>(offset);
  return true;
}

void AddMemoryPart(std::string_view text, Operand* out) {
  int64_t number = 0;
  if (ParseInteger(text, &number)) {
    out->value += static_cast<uint32_t>(number);
    return;
  }
  MemoryPart part;
  std::string_view rest;
  Operand constant;
  if (ParseRegister(text, &part.reg, &rest)) {
    part.narrow = rest.find("U32") != rest.npos || rest.find("S32") != rest.npos;
  } else if (ParseConstant(text, &constant) && !constant.has_index) {
    part.kind = MemoryPart::kConst;
    part.bank = constant.bank;
    part.value = constant.value;
  } else {
    part.kind = MemoryPart::kStrange;
  }
  if (out->parts < 3) out->part[out->parts++] = part;
}

// [R2.64+0x10], desc[UR4][R2.64], [UR4+R2]; the last pair of brackets is the address.
bool ParseMemory(std::string_view text, Operand* out) {
  size_t open = text.rfind('['), first = text.find('[');
  size_t close = text.rfind(']');
  if (open == text.npos || close == text.npos || close < open) return false;
  std::string_view prefix = text.substr(0, first);
  // Descriptors of shared or tensor memory, not addresses of global memory.
  bool lone = first == open;
  if (prefix == "tmem" || prefix == "cx" || prefix == "gdesc" || prefix == "idesc") return false;
  if (lone && prefix.ends_with("desc")) return false;
  out->kind = OperandKind::kMemory;
  std::string_view inside = text.substr(open + 1, close - open - 1);
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= inside.size(); ++i) {
    if (i < inside.size() && (inside[i] != '+' || depth)) continue;
    if (i > start) AddMemoryPart(inside.substr(start, i - start), out);
    start = i + 1;
  }
  return true;
}

// 32@lo(name), 32@hi(name): half of a symbol's address, put in by a relocation.
bool ParseSymbol(std::string_view text, Operand* out) {
  bool low = text.starts_with("32@lo("), high = text.starts_with("32@hi(");
  if ((!low && !high) || !text.ends_with(')')) return false;
  out->kind = OperandKind::kSymbol;
  out->value = high;
  out->text = text.substr(6, text.size() - 7);
  if (out->text.starts_with('(') && out->text.ends_with(')')) {
    out->text = out->text.substr(1, out->text.size() - 2);
  }
  return true;
}

}  // namespace

bool ParseInteger(std::string_view text, int64_t* value) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  *value = static_cast<int64_t>(negative ? 0 - number : number);
  return true;
}

Operand ParseOperand(std::string_view text) {
  Operand out;
  out.text = text;
  if (ParsePredicate(text, &out.value)) {
    out.kind = OperandKind::kPredicate;
    out.negated = text[0] == '!';
    return out;
  }
  std::string_view bare = text, rest;
  while (!bare.empty() && (bare[0] == '-' || bare[0] == '~' || bare[0] == '!' || bare[0] == '|')) {
    if (bare[0] == '-' && bare.size() > 1 && IsDigit(bare[1])) break;
    out.negated |= bare[0] == '-' || bare[0] == '~';
    bare.remove_prefix(1);
  }
  int64_t number = 0;
  if (bare.find('[') == bare.npos && ParseRegister(bare, &out.reg, &rest)) {
    out.kind = OperandKind::kRegister;
  } else if (ParseConstant(bare, &out)) {
    return out;
  } else if (ParseInteger(bare, &number)) {
    out.kind = OperandKind::kImmediate;
    out.value = static_cast<uint32_t>(number);
  } else if (ParseMemory(bare, &out)) {
    return out;
  } else if (text.starts_with("`(") && text.ends_with(')')) {
    out.kind = OperandKind::kLabel;
    out.text = text.substr(2, text.size() - 3);
    out.target = kNoTarget;
  } else if (!ParseSymbol(text, &out) && text.size() >= 2 && text[0] == 'B' && IsDigit(text[1])) {
    out.kind = OperandKind::kBarrier;
  }
  return out;
}

uint32_t WordsOf(uint32_t modifiers) {
  if (modifiers & kMod64) return 2;
  if (modifiers & kMod128) return 4;
  if (modifiers & kMod96) return 3;
  if (modifiers & kMod256) return 8;
  return 1;
}

}  // namespace ss::kernels
