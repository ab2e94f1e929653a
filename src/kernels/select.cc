#include "src/kernels/select.h"

#include <fmt/format.h>

#include "src/kernels/fatbin.h"
#include "src/kernels/ptx.h"

namespace ss::kernels {
namespace {

bool Fits(EntryKind kind, int entry, int device) {
  if (device == 0) return true;
  if (kind == EntryKind::kCubin) return entry / 10 == device / 10 && entry <= device;
  return kind == EntryKind::kPtx && entry <= device;
}

// The newest that fits; 0 when none does.
int Newest(const std::vector<FatbinEntry>& entries, EntryKind kind, int device) {
  int newest = 0;
  for (const FatbinEntry& entry : entries) {
    if (entry.kind == kind && entry.arch > newest && Fits(kind, entry.arch, device))
      newest = entry.arch;
  }
  return newest;
}

Result<Selection> Compile(const std::string& ptx, int arch, const std::string& place) {
  Result<std::string> cubin = CompilePtx(ptx, arch, place);
  if (!cubin) return tl::unexpected(cubin.error());
  Selection selection;
  selection.recompiled = true;
  selection.modules.push_back({place, std::move(*cubin)});
  return selection;
}

std::string Architectures(const std::vector<FatbinEntry>& entries) {
  std::string list;
  for (const FatbinEntry& entry : entries) {
    list += fmt::format("{}{}_{}", list.empty() ? "" : ", ",
                        entry.kind == EntryKind::kPtx ? "compute" : "sm", entry.arch);
  }
  return list;
}

Result<Selection> SelectFromFatbin(std::string_view image, int arch, const std::string& place) {
  auto all = ReadFatbins(image, place, [](EntryKind, int) { return false; });
  if (!all) return tl::unexpected(all.error());
  int newest = Newest(*all, EntryKind::kCubin, arch);
  EntryKind kind = newest ? EntryKind::kCubin : EntryKind::kPtx;
  if (!newest) newest = Newest(*all, EntryKind::kPtx, arch);
  if (!newest) {
    return Fail(place,
                fmt::format("nothing in it runs on sm_{}: it holds {}", arch, Architectures(*all)),
                fmt::format("compile it for sm_{}", arch));
  }
  auto chosen =
      ReadFatbins(image, place, [&](EntryKind k, int a) { return k == kind && a == newest; });
  if (!chosen) return tl::unexpected(chosen.error());
  Selection selection;
  for (FatbinEntry& entry : *chosen) {
    std::string where = fmt::format("{}@byte {}", place, entry.offset);
    if (!entry.error.empty()) {
      selection.notes.push_back(fmt::format("{}: {}", where, entry.error));
    } else if (entry.kind == kind && entry.arch == newest) {
      if (kind == EntryKind::kPtx) return Compile(entry.image, arch ? arch : newest, where);
      selection.modules.push_back({where, std::move(entry.image)});
    }
  }
  if (selection.modules.empty()) {
    return Fail(place, selection.notes.empty() ? "it cannot be read" : selection.notes.front());
  }
  return selection;
}

}  // namespace

Result<Selection> SelectModules(std::string_view image, int arch, const std::string& place) {
  if (IsElf(image)) {
    Selection selection;
    selection.modules.push_back({place, std::string(image)});
    return selection;
  }
  if (IsFatbin(image)) return SelectFromFatbin(image, arch, place);
  if (LooksLikePtx(image)) return Compile(std::string(image), arch, place);
  return Fail(place, "neither a cubin, a fat binary nor PTX");
}

}  // namespace ss::kernels
