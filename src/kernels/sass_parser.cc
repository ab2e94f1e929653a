// Text of nvdisasm to Code. Its JSON was rejected: it drops branch targets and operand separators.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/kernels/sass.h"
#include "src/kernels/sass_operand.h"

namespace ss::kernels {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// By hand: find_first_not_of() with a set of characters asks memchr() about each byte, which was a
// fifth of all parsing.
std::string_view Trim(std::string_view text) {
  size_t first = 0, last = text.size();
  while (first < last && IsBlank(text[first])) ++first;
  while (last > first && IsBlank(text[last - 1])) --last;
  return text.substr(first, last - first);
}

// The next blank-separated word; `text` moves behind it.
std::string_view NextWord(std::string_view& text) {
  text = Trim(text);
  size_t end = 0;
  while (end < text.size() && !IsBlank(text[end])) ++end;
  std::string_view word = text.substr(0, end);
  text = Trim(text.substr(end));
  return word;
}

// Is this "/*0120*/  IADD3 ..."? Then its address; `line` moves behind it.
bool TakeAddress(std::string_view& line, uint64_t* address) {
  std::string_view rest = Trim(line);
  if (!rest.starts_with("/*")) return false;
  auto [end, error] = std::from_chars(rest.data() + 2, rest.data() + rest.size(), *address, 16);
  size_t used = end - rest.data();
  if (error != std::errc() || used < 6 || rest.substr(used, 2) != "*/") return false;
  line = Trim(rest.substr(used + 2));
  return true;
}

class Parser {
 public:
  Parser(std::shared_ptr<const std::string> text, std::string place) : place_(std::move(place)) {
    code_.text = std::move(text);
    size_t guess = code_.text->size() / 50;  // bytes a line
    code_.instructions.reserve(guess);
    code_.operands.reserve(guess * 3);
  }

  Result<Code> Elf() {
    ForEachLine([this](std::string_view line) { ElfLine(line); });
    ResolveLabels();
    return Finish();
  }

  Result<Code> Raw(std::span<const RawPiece> pieces) {
    for (const RawPiece& piece : pieces) {
      if (piece.size % kInstructionBytes || piece.offset % kInstructionBytes) {
        return Fail(place_, fmt::format("{}: not a whole number of instructions", piece.section));
      }
    }
    size_t at = 0;
    ForEachLine([&](std::string_view line) {
      uint64_t address = 0;
      if (!TakeAddress(line, &address)) return;
      while (at < pieces.size() && address >= pieces[at].offset + pieces[at].size) ++at;
      if (at == pieces.size() || address < pieces[at].offset) return;
      if (bases_.empty() || bases_.back() != pieces[at].offset) {
        Open(pieces[at].section);
        bases_.push_back(pieces[at].offset);
      }
      AddInstruction(address - pieces[at].offset, line);
    });
    ResolveAddresses();
    return Finish();
  }

 private:
  template <typename Use>
  void ForEachLine(Use use) {
    std::string_view all = *code_.text;
    while (!all.empty()) {
      size_t end = all.find('\n');
      use(all.substr(0, end));
      all = end == all.npos ? "" : all.substr(end + 1);
    }
  }

  void ElfLine(std::string_view line) {
    uint64_t address = 0;
    if (line.empty()) return;
    if (line[0] != ' ' && line[0] != '\t') {
      size_t colon = line.find(':');
      bool label = colon != line.npos && colon && Trim(line.substr(colon + 1)).empty();
      if (label && open_ && line[0] != '/') waiting_.push_back(line.substr(0, colon));
    } else if (TakeAddress(line, &address)) {
      if (open_) AddInstruction(address, line);
    } else if (std::string_view rest = Trim(line); NextWord(rest) == ".section") {
      std::string_view name = rest.substr(0, rest.find(','));
      open_ = name.starts_with(".text.");
      waiting_.clear();
      if (open_) Open(std::string(name));
    }
  }

  void Open(std::string name) {
    code_.by_name.emplace(name, static_cast<uint32_t>(code_.sections.size()));
    code_.sections.push_back({std::move(name), uint32_t(code_.instructions.size()), 0});
  }

  void AddInstruction(uint64_t pc, std::string_view line) {
    size_t end = line.rfind(';');
    if (end == line.npos) return;
    line = Trim(line.substr(0, end));
    Instruction in;
    in.pc = static_cast<uint32_t>(pc);
    in.line = line;
    in.section = static_cast<uint32_t>(code_.sections.size() - 1);
    std::string_view rest = line;
    if (rest.starts_with('@')) Guard(NextWord(rest), in);
    std::string_view opcode = NextWord(rest);
    size_t dot = opcode.find('.');
    in.opcode = opcode.substr(0, dot);
    in.mods = dot == opcode.npos ? "" : opcode.substr(dot + 1);
    in.op = ClassOf(in.opcode);
    in.modifiers = ModifierBits(in.mods);
    TakeTargets(rest, in);
    in.first_operand = static_cast<uint32_t>(code_.operands.size());
    AddOperands(rest);
    in.operand_count = static_cast<uint16_t>(code_.operands.size() - in.first_operand);
    uint32_t index = static_cast<uint32_t>(code_.instructions.size());
    for (std::string_view label : waiting_) code_.labels[label] = index;
    waiting_.clear();
    code_.instructions.push_back(in);
    ++code_.sections.back().count;
  }

  static void Guard(std::string_view word, Instruction& in) {
    word.remove_prefix(1);
    in.guard_negated = word.starts_with('!');
    if (in.guard_negated) word.remove_prefix(1);
    bool uniform = word.starts_with('U');
    if (uniform) word.remove_prefix(1);
    in.guarded = word != "PT";
    if (in.guarded && word.size() == 2)
      in.guard = static_cast<uint8_t>((word[1] - '0') + 8 * uniform);
  }

  static void TakeTargets(std::string_view& rest, Instruction& in) {
    constexpr std::string_view kMark = "(*\"BRANCH_TARGETS ";
    size_t mark = rest.find(kMark);
    if (mark == rest.npos) return;
    std::string_view list = rest.substr(mark + kMark.size());
    in.targets = list.substr(0, list.find('"'));
    rest = Trim(rest.substr(0, mark));
  }

  // Commas inside brackets belong to the operand.
  void AddOperands(std::string_view rest) {
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= rest.size(); ++i) {
      char c = i < rest.size() ? rest[i] : ',';
      depth += c == '[' || c == '(' || c == '{';
      depth -= c == ']' || c == ')' || c == '}';
      if (c != ',' || (depth > 0 && i < rest.size())) continue;
      std::string_view text = Trim(rest.substr(start, i - start));
      start = i + 1;
      if (!text.empty()) AddOperand(text);
    }
  }

  void AddOperand(std::string_view text) {
    Operand operand = ParseOperand(text);
    // "BRX R2 -0xb0" is a register with a displacement; the register is what counts.
    Note(operand.kind == OperandKind::kRegister ? operand.reg : kNoRegister);
    for (int i = 0; i < operand.parts; ++i) Note(operand.part[i].reg);
    if (operand.has_index) Note(operand.reg);
    code_.operands.push_back(operand);
  }

  void Note(Register reg) {
    if (reg == kNoRegister) return;
    Register& highest = reg >= kUniform ? code_.uniform : code_.registers;
    highest = std::max<Register>(highest, (reg & 0xff) + 1);
  }

  void ResolveLabels() {
    for (Operand& operand : code_.operands) {
      if (operand.kind != OperandKind::kLabel) continue;
      auto found = code_.labels.find(operand.text);
      if (found != code_.labels.end()) operand.target = found->second;
    }
  }

  // In raw mode a target is an address: of the whole input, not of the piece.
  void ResolveAddresses() {
    for (const Instruction& in : code_.instructions) {
      bool jumps = in.op == OpClass::kBranch || in.op == OpClass::kCall ||
                   in.op == OpClass::kSyncPoint ||
                   (in.op == OpClass::kWarp && in.operand_count > 1);
      if (!jumps || !in.operand_count) continue;
      Operand& last = code_.operands[in.first_operand + in.operand_count - 1];
      if (last.kind != OperandKind::kImmediate) continue;
      last.kind = OperandKind::kLabel;
      last.target = code_.At(in.section, uint64_t(last.value) - bases_[in.section]);
    }
  }

  Result<Code> Finish() {
    if (code_.instructions.empty()) {
      return Fail(place_, "no instruction in the disassembly", "is it the output of nvdisasm?");
    }
    return std::move(code_);
  }

  Code code_;
  std::string place_;
  bool open_ = false;
  std::vector<std::string_view> waiting_;  // labels of the next instruction
  std::vector<uint64_t> bases_;            // of raw sections
};

}  // namespace

uint32_t Code::Find(const std::string& section) const {
  auto found = by_name.find(section);
  return found == by_name.end() ? kNoTarget : found->second;
}

uint32_t Code::At(uint32_t section, uint64_t pc) const {
  const CodeSection& in = sections[section];
  auto begin = instructions.begin() + in.first, end = begin + in.count;
  auto found =
      std::lower_bound(begin, end, pc, [](const Instruction& a, uint64_t b) { return a.pc < b; });
  if (found == end || found->pc != pc) return kNoTarget;
  return static_cast<uint32_t>(found - instructions.begin());
}

Result<Code> ParseElfText(std::shared_ptr<const std::string> text, std::string place) {
  return Parser(std::move(text), std::move(place)).Elf();
}

Result<Code> ParseRawText(std::shared_ptr<const std::string> text, std::span<const RawPiece> pieces,
                          std::string place) {
  return Parser(std::move(text), std::move(place)).Raw(pieces);
}

}  // namespace ss::kernels
