#include "tests/kernels/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace ss::kernels {
namespace {

using Items = std::set<std::pair<std::string, char>>;

// "@1+8" -> "16" and the like, behind any of the prefixes.
std::string Place(const std::string& where, const std::vector<Parameter>& params) {
  size_t at = where.find('@');
  if (at == std::string::npos) return where;
  size_t plus = where.find('+', at);
  size_t ordinal = std::stoul(where.substr(at + 1, plus - at - 1));
  uint32_t offset = ordinal < params.size() ? params[ordinal].offset : 0;
  if (plus != std::string::npos)
    offset += static_cast<uint32_t>(std::stoul(where.substr(plus + 1)));
  return where.substr(0, at) + std::to_string(offset);
}

int32_t NumberIn(const std::string& where) {
  size_t digit = where.find_first_of("0123456789");
  bool symbol = where.find_first_of("GC") != std::string::npos;
  return symbol || digit == std::string::npos ? -1 : std::stoi(where.substr(digit));
}

std::string ItemOf(const Access& access) {
  std::string number = std::to_string(access.offset);
  switch (access.root) {
    case Root::kParam:
      return number;
    case Root::kParamTable:
      return "D" + number;
    case Root::kTensorMap:
      return (access.stride ? "DT" : "T") + number;
    case Root::kTexture:
      return "T" + number;
    case Root::kGlobal:
      return "G" + access.symbol;
    case Root::kIndirect:
      break;
  }
  if (access.symbol.starts_with("c[3]")) return "Ccptr";
  if (!access.symbol.empty()) return "*G" + access.symbol;
  return "*" + number;
}

bool InTable(const Truth& truth, int32_t word, TruthTable* found) {
  for (const TruthTable& table : truth.tables) {
    bool inside = word >= table.begin && word < table.end;
    if (!inside) continue;
    *found = table;
    return true;
  }
  return false;
}

// A word of a table that was found on its own counts as the table.
std::string Canonical(const Access& access, const Truth& truth) {
  std::string item = ItemOf(access);
  bool tensor_behind = access.root == Root::kIndirect && access.symbol.empty();
  if (tensor_behind &&
      truth.items.count({"t" + std::to_string(access.offset), access.Modes()[0]})) {
    return "t" + std::to_string(access.offset);
  }
  TruthTable table;
  bool exact = std::any_of(truth.items.begin(), truth.items.end(),
                           [&](const auto& one) { return one.first == item; });
  if (access.root == Root::kParam && !exact && InTable(truth, access.offset, &table)) {
    return "D" + std::to_string(table.begin);
  }
  return item;
}

bool HoldsPointer(const std::string& item, const Truth& truth) {
  int32_t word = NumberIn(item);
  TruthTable table;
  if (word < 0 || item[0] == '*') return true;
  return truth.pointer_words.count(word) || InTable(truth, word, &table);
}

// Does the summary warn about itself, given which words hold pointers?
bool Warns(const KernelSummary& summary, const Truth& truth) {
  if (!summary.resolved()) return true;
  return std::any_of(summary.differences.begin(), summary.differences.end(), [&](auto one) {
    return one.offset < 0 || truth.pointer_words.count(one.offset);
  });
}

// Polling loops and accesses before the grid-dependency wait; "" when they are as they should be.
std::string OrderMistake(const KernelSummary& summary, const Truth& truth) {
  bool polls = std::any_of(summary.accesses.begin(), summary.accesses.end(),
                           [](const Access& one) { return one.polled; });
  if (polls != truth.polls) return polls ? "polls" : "does not poll";
  bool asked = summary.waits_for_grid || !truth.early.empty();
  for (const Access& one : summary.accesses) {
    bool wrong = asked && one.before_grid_wait != (truth.early.count(one.offset) > 0);
    if (wrong)
      return fmt::format("parameter word {} before the wait: {}", one.offset, one.before_grid_wait);
  }
  return "";
}

std::string Show(const Items& items) {
  std::string text;
  for (const auto& [where, mode] : items) text += fmt::format(" {}:{}", where, mode);
  return text;
}

Items Minus(const Items& a, const Items& b) {
  Items out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

// Tables: every word that the truth has must be among those that the summary enumerates.
void CheckTables(const KernelSummary& summary, const Truth& truth, Items& missing) {
  for (const TruthTable& table : truth.tables) {
    for (const Access& access : summary.accesses) {
      if (access.root != Root::kParamTable || access.offset != table.begin) continue;
      int32_t last = table.begin + (table.end - table.begin - 8) / table.stride * table.stride;
      bool covers = access.end >= last + 8 && table.stride % int32_t(access.stride) == 0;
      if (!covers)
        missing.insert({fmt::format("D{}-{}", table.begin, table.end), access.Modes()[0]});
    }
  }
}

// Words that a table which is marked as ambiguous enumerates: reported, if with too much beside
// them.
Items WithoutAmbiguousTables(const Items& missing, const KernelSummary& summary) {
  Items rest;
  for (const auto& one : missing) {
    int32_t word = NumberIn(one.first);
    bool covered =
        std::any_of(summary.accesses.begin(), summary.accesses.end(), [&](const Access& access) {
          return access.root == Root::kParamTable && access.ambiguous && access.stride == 8 &&
                 one.first[0] != '*' && word >= access.offset && word < access.end &&
                 access.Modes().find(one.second) != std::string::npos;
        });
    if (!covered) rest.insert(one);
  }
  return rest;
}

}  // namespace

std::map<std::string, std::string> ReadTruth(const std::string& source, const std::string& kind) {
  std::map<std::string, std::string> lines;
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) {
    size_t colon = line.find(':');
    if (!line.starts_with(kind) || colon == std::string::npos) continue;
    lines[line.substr(kind.size(), colon - kind.size())] = line.substr(colon + 1);
  }
  return lines;
}

Truth ParseTruth(const std::string& line, const std::vector<Parameter>& params) {
  Truth truth;
  std::istringstream in(line);
  for (std::string item; in >> item;) {
    if (item == "POLL") {
      truth.polls = true;
      continue;
    }
    if (item.starts_with("EARLY")) {
      size_t ordinal = std::stoul(item.substr(5));
      truth.early.insert(ordinal < params.size() ? int32_t(params[ordinal].offset) : -1);
      continue;
    }
    size_t colon = item.rfind(':');
    std::string where = Place(item.substr(0, colon), params);
    std::string modes = item.substr(colon + 1);
    size_t dash = where.find('-');
    if (where.starts_with('D') && dash != std::string::npos) {
      size_t slash = where.find('/');
      TruthTable table{NumberIn(where), std::stoi(where.substr(dash + 1)), 8};
      if (slash != std::string::npos) table.stride = std::stoi(where.substr(slash + 1));
      truth.tables.push_back(table);
      where = where.substr(0, dash);
    }
    if (NumberIn(where) >= 0) truth.pointer_words.insert(NumberIn(where));
    if (where.starts_with("*C")) where = where.substr(1);
    for (char mode : modes) {
      if (mode != '-') truth.items.insert({where, mode});
    }
  }
  return truth;
}

void Compare(const KernelSummary& summary, const Truth& truth, Score& score) {
  Items found, ambiguous;
  for (const Access& access : summary.accesses) {
    for (char mode : access.Modes()) {
      found.insert({Canonical(access, truth), mode});
      if (access.ambiguous) ambiguous.insert({Canonical(access, truth), mode});
    }
  }
  Items extra = Minus(found, truth.items), missing = Minus(truth.items, found);
  CheckTables(summary, truth, missing);
  Items extra_pointers;
  for (const auto& one : extra) {
    if (HoldsPointer(one.first, truth)) extra_pointers.insert(one);
  }
  ++score.kernels;
  score.right += static_cast<int>(found.size() - extra.size());
  score.extra += static_cast<int>(extra.size());
  score.extra_pointers += static_cast<int>(extra_pointers.size());
  score.missing += static_cast<int>(missing.size());
  if (std::string mistake = OrderMistake(summary, truth); !mistake.empty()) {
    score.silent.push_back(fmt::format("{} sm_{}: {}", summary.name, summary.arch, mistake));
  }
  bool wrong = !Minus(extra_pointers, ambiguous).empty() ||
               !WithoutAmbiguousTables(missing, summary).empty();
  if (wrong && !Warns(summary, truth)) {
    score.silent.push_back(fmt::format("{} sm_{}: extra{} missing{}", summary.name, summary.arch,
                                       Show(extra_pointers), Show(missing)));
  }
}

}  // namespace ss::kernels
