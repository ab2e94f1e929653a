#include "src/report/inlines.h"

#include <dwarf.h>

#include <cstdlib>
#include <memory>

#include "src/base/demangle.h"

namespace ss {
namespace {

using Scopes = std::unique_ptr<Dwarf_Die, decltype(&std::free)>;

bool IsFunction(Dwarf_Die* die) {
  int tag = dwarf_tag(die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

std::string NameOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* linkage = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  if (linkage) return Demangled(linkage);
  const char* name = dwarf_diename(die);
  return name ? name : "";
}

uint64_t NumberOf(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  dwarf_formudata(dwarf_attr(die, attribute_name, &attribute), &value);
  return value;
}

// Where the inlined function `die` was called from.
void SetCallSite(Dwarf_Die* unit, Dwarf_Die* die, Frame& caller) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return;
  const char* file = dwarf_filesrc(files, NumberOf(die, DW_AT_call_file), nullptr, nullptr);
  if (!file) return;
  caller.file = file;
  caller.line = static_cast<uint32_t>(NumberOf(die, DW_AT_call_line));
}

// The functions around an address, innermost first, physically nested. dwarf_getscopes alone would
// follow an inlined function to where it was written and not to where it was inlined.
std::vector<Dwarf_Die> Functions(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* raw = nullptr;
  int count = dwarf_getscopes(unit, address, &raw);
  Scopes scopes(raw, &std::free);
  if (count <= 0) return {};
  Dwarf_Die* nested = nullptr;
  count = dwarf_getscopes_die(&raw[0], &nested);
  Scopes owner(nested, &std::free);
  std::vector<Dwarf_Die> functions;
  for (int i = 0; i < count; ++i) {
    if (IsFunction(&nested[i])) functions.push_back(nested[i]);
  }
  return functions;
}

}  // namespace

void ExpandInlines(Dwfl_Module* module, Dwarf_Addr address, std::vector<Frame>& frames) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  if (!unit) return;
  std::vector<Dwarf_Die> functions = Functions(unit, address - bias);
  for (size_t i = 0; i < functions.size(); ++i) {
    bool outermost = dwarf_tag(&functions[i]) == DW_TAG_subprogram;
    std::string name = NameOf(&functions[i]);
    if (!name.empty() && !outermost) frames.back().fn = name;
    if (outermost || i + 1 == functions.size()) return;
    Frame caller = frames.back();
    caller.fn = NameOf(&functions[i + 1]);
    SetCallSite(unit, &functions[i], caller);
    frames.push_back(caller);
  }
}

}  // namespace ss
