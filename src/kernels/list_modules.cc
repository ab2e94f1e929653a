#include <fmt/format.h>

#include "src/kernels/elf.h"
#include "src/kernels/fatbin.h"
#include "src/kernels/modules.h"

namespace ss::kernels {
namespace {

constexpr uint16_t kMachineCuda = 190;

}  // namespace

Result<ModuleList> ListModules(std::string_view file, const std::string& place) {
  ModuleList list;
  uint16_t machine = 0;
  bool cubin = IsElf(file) && ReadAt(file, 18, &machine) && machine == kMachineCuda;
  if (cubin) {
    list.images.push_back({place, std::string(file)});
    return list;
  }
  auto entries = ReadFatbins(file, place);
  if (!entries) return tl::unexpected(entries.error());
  size_t damaged = 0;
  for (FatbinEntry& entry : *entries) {
    std::string where = fmt::format("{}@byte {}", place, entry.offset);
    damaged += !entry.error.empty();
    if (!entry.error.empty()) {
      list.notes.push_back(fmt::format("{}: {}", where, entry.error));
    } else if (entry.kind == EntryKind::kPtx) {
      list.notes.push_back(fmt::format(
          "{}: PTX for compute_{}; the machine code that the driver makes of it is not here", where,
          entry.arch));
    } else if (entry.kind == EntryKind::kCubin) {
      list.images.push_back({where, std::move(entry.image)});
    } else {
      list.notes.push_back(fmt::format(
          "{}: neither machine code nor PTX (what link-time optimisation works on, perhaps)",
          where));
    }
  }
  // Nothing but damage: wrong input, not an empty answer.
  if (damaged != 0 && damaged == entries->size()) return Fail("", list.notes.front());
  return list;
}

}  // namespace ss::kernels
