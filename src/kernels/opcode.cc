// From the words of an opcode to what the analysis needs of it.
#include <array>
#include <unordered_map>

#include "src/kernels/sass_operand.h"

namespace ss::kernels {
namespace {

struct ModifierName {
  std::string_view name;
  uint32_t bits;
};

constexpr std::array kModifiers = {
    ModifierName{"64", kMod64},         ModifierName{"96", kMod96},
    ModifierName{"128", kMod128},       ModifierName{"256", kMod256},
    ModifierName{"WIDE", kModWide},     ModifierName{"HI", kModHi},
    ModifierName{"X", kModX},           ModifierName{"SHL", kModShl},
    ModifierName{"L", kModLeft},        ModifierName{"R", kModRight},
    ModifierName{"U32", kModU32},       ModifierName{"U8", kModNarrow},
    ModifierName{"S8", kModNarrow},     ModifierName{"U16", kModNarrow},
    ModifierName{"S16", kModNarrow},    ModifierName{"SX8", kModNarrow},
    ModifierName{"SX16", kModNarrow},   ModifierName{"SX32", kModSx32},
    ModifierName{"ANY", kModAny},       ModifierName{"DIV", kModDiv},
    ModifierName{"CONV", kModDiv},      ModifierName{"U", kModUniform},
    ModifierName{"STRONG", kModStrong}, ModifierName{"GPU", kModGpu},
    ModifierName{"SYS", kModSys},       ModifierName{"RML2", kModDiscard},
    ModifierName{"DML2", kModDiscard},  ModifierName{"TRAP", kModTrap},
    ModifierName{"32", kMod32},         ModifierName{"4", kMod4},
    ModifierName{"2", kMod2},
};

std::unordered_map<std::string_view, OpClass> BuildClasses() {
  return {
#define OPCODE(name, op) {#name, OpClass::k##op},
#include "src/kernels/opcodes.def"
#undef OPCODE
  };
}

}  // namespace

OpClass ClassOf(std::string_view opcode) {
  static const std::unordered_map<std::string_view, OpClass> kClasses = BuildClasses();
  auto found = kClasses.find(opcode);
  return found == kClasses.end() ? OpClass::kOther : found->second;
}

uint32_t ModifierBits(std::string_view mods) {
  uint32_t bits = 0;
  while (!mods.empty()) {
    size_t dot = mods.find('.');
    std::string_view word = mods.substr(0, dot);
    for (const ModifierName& modifier : kModifiers) {
      if (modifier.name == word) bits |= modifier.bits;
    }
    mods = dot == mods.npos ? "" : mods.substr(dot + 1);
  }
  return bits;
}

}  // namespace ss::kernels
