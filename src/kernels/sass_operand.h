// One operand of an instruction, from its text.
#pragma once

#include "src/kernels/sass.h"

namespace ss::kernels {

// Never fails: what is not understood is kOther, and what uses it then knows nothing.
Operand ParseOperand(std::string_view text);

// "0x1f", "-12": false when it is anything else.
bool ParseInteger(std::string_view text, int64_t* value);

OpClass ClassOf(std::string_view opcode);
uint32_t ModifierBits(std::string_view mods);

}  // namespace ss::kernels
