// The functions that the compiler inlined at an address, from DWARF.
#pragma once

#include <elfutils/libdwfl.h>

#include <vector>

#include "src/report/symbols.h"

namespace ss {

// Turns the one frame of `address` (function by symbol, innermost line) into the chain of inlined
// functions around it, innermost first. Leaves it alone where nothing was inlined or nothing is
// known.
void ExpandInlines(Dwfl_Module* module, Dwarf_Addr address, std::vector<Frame>& frames);

}  // namespace ss
