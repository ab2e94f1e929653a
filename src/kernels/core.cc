#include "src/kernels/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <tuple>

#include "src/kernels/process.h"
#include "src/kernels/tools.h"

namespace ss::kernels {
namespace {

constexpr int kTimeout = 120;        // seconds; a core of a large GPU takes its time
constexpr size_t kMostPlaces = 512;  // of a warp and a block each; what is beyond is counted

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

uint64_t Hex(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 16); }

// "R9" or "UR4" or "RZ" from `info registers`; 0 where it is not there.
uint64_t Register(const std::vector<std::string>& lines, const std::string& name) {
  for (const std::string& line : lines) {
    if (line.rfind(name, 0) != 0 || line.size() <= name.size() || line[name.size()] != ' ')
      continue;
    const size_t value = line.find("0x");
    return value == line.npos ? 0 : Hex(line.substr(value));
  }
  return 0;
}

Result<std::string> Ask(const std::string& program, const std::string& core,
                        const std::vector<std::string>& commands) {
  std::vector<std::string> argv = {program, "-batch", "-nx", "-ex", "target cudacore " + core};
  for (const std::string& command : commands) {
    argv.push_back("-ex");
    argv.push_back(command);
  }
  return CaptureOutput(argv, kTimeout);
}

// What cuda-gdb printed behind the `echo` of each question.
std::vector<std::string> Answers(const std::string& text, size_t count) {
  std::vector<std::string> answers(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string mark = fmt::format("@@{}@@", i);
    const size_t begin = text.find(mark);
    if (begin == text.npos) continue;
    const size_t end = text.find(fmt::format("@@{}@@", i + 1), begin);
    answers[i] =
        text.substr(begin + mark.size(), end == text.npos ? end : end - begin - mark.size());
  }
  return answers;
}

std::string Focus(const CoreWarp& warp) {
  return fmt::format("cuda kernel {} block {} thread {}", warp.kernel, warp.block, warp.thread);
}

// Warps of one block at one pc: they have the same operands.
std::vector<CoreGroup> Places(const std::vector<CoreWarp>& warps) {
  std::map<std::tuple<uint64_t, std::string, std::string>, CoreGroup> places;
  for (const CoreWarp& warp : warps) {
    CoreGroup& place = places[{warp.pc, warp.kernel, warp.block}];
    if (place.warps++ == 0) place.example = warp;
    place.pc = warp.pc;
    place.blocks = 1;
  }
  std::vector<CoreGroup> sorted;
  for (auto& [key, place] : places) sorted.push_back(std::move(place));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CoreGroup& a, const CoreGroup& b) { return a.warps > b.warps; });
  return sorted;
}

// Who waits at one instruction for one barrier with one parity, in the same state, is one group,
// wherever in its loop it was; the others by their pc.
std::vector<CoreGroup> Merge(std::vector<CoreGroup> places) {
  using Key = std::tuple<std::string, uint64_t, uint32_t, uint32_t, uint64_t>;
  std::map<Key, size_t> known;
  std::map<size_t, std::set<std::string>> blocks;
  std::vector<CoreGroup> groups;
  for (CoreGroup& place : places) {
    const CoreWait wait = place.wait.value_or(CoreWait{});
    const auto [at, fresh] =
        known.try_emplace({place.example.kernel + wait.function, place.wait ? 0 : place.pc,
                           wait.barrier, wait.parity, place.word.value_or(0)},
                          groups.size());
    blocks[at->second].insert(place.example.block);
    if (fresh) {
      groups.push_back(std::move(place));
      continue;
    }
    groups[at->second].warps += place.warps;
  }
  for (auto& [group, names] : blocks) groups[group].blocks = names.size();
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CoreGroup& a, const CoreGroup& b) { return a.warps > b.warps; });
  return groups;
}

Result<void> AskForWaits(const std::string& program, const std::string& path,
                         std::vector<CoreGroup>& places) {
  std::vector<std::string> questions;
  for (size_t i = 0; i < places.size(); ++i) {
    questions.insert(questions.end(), {fmt::format("echo @@{}@@\\n", i), Focus(places[i].example),
                                       "x/9i $pc-64", "info registers"});
  }
  Result<std::string> text = Ask(program, path, questions);
  if (!text) return tl::unexpected(text.error());
  const std::vector<std::string> answers = Answers(*text, places.size());
  for (size_t i = 0; i < places.size(); ++i) places[i].wait = ParseWait(answers[i]);
  return {};
}

Result<void> AskForWords(const std::string& program, const std::string& path,
                         std::vector<CoreGroup>& places) {
  std::vector<std::string> questions;
  for (size_t i = 0; i < places.size(); ++i) {
    questions.push_back(fmt::format("echo @@{}@@\\n", i));
    if (!places[i].wait) continue;
    questions.push_back(Focus(places[i].example));
    questions.push_back(
        fmt::format("x/1gx (@shared unsigned long*)0x{:x}", places[i].wait->barrier & 0xffffff));
  }
  Result<std::string> text = Ask(program, path, questions);
  if (!text) return tl::unexpected(text.error());
  const std::vector<std::string> answers = Answers(*text, places.size());
  for (size_t i = 0; i < places.size(); ++i) places[i].word = ParseWord(answers[i]);
  return {};
}

}  // namespace

std::vector<CoreWarp> ParseWarps(std::string_view text) {
  static const std::regex kLine(
      R"(^[* ]*\d+\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(\d+)\s+(\(\d+,\d+,\d+\))\s+(\(\d+,\d+,\d+\)))");
  std::vector<CoreWarp> warps;
  for (const std::string& line : Lines(text)) {
    std::smatch match;
    if (std::regex_search(line, match, kLine))
      warps.push_back({Hex(match[1]), match[2], match[3], match[4]});
  }
  return warps;
}

namespace {

// The look with its operands' values.
CoreWait ReadWait(const std::smatch& match, const std::vector<std::string>& lines) {
  CoreWait wait{match[1], match[2], 0, 0};
  uint64_t address = 0;
  const std::string operand = match[3];
  for (size_t at = 0; at <= operand.size();) {
    const size_t plus = std::min(operand.find('+', at), operand.size());
    const std::string part = operand.substr(at, plus - at);
    address += part.rfind("0x", 0) == 0 ? Hex(part) : Register(lines, part);
    at = plus + 1;
  }
  wait.barrier = static_cast<uint32_t>(address);
  wait.parity = static_cast<uint32_t>(Register(lines, match[4]) >> 31 & 1);
  return wait;
}

}  // namespace

std::optional<CoreWait> ParseWait(std::string_view text) {
  static const std::regex kInstruction(
      R"(<(.+)>:\s*((?:@!?U?P\w+ )?SYNCS\.PHASECHK\S* U?P\w+,?\s*\[([^\]]+)\],\s*(U?R\w+).*))");
  const std::vector<std::string> lines = Lines(text);
  // In the loop the pc stands behind the look, mostly: the last look before it. At the loop's first
  // instructions the look comes next, with nothing but those in between.
  std::optional<CoreWait> wait;
  bool behind = false;
  for (const std::string& line : lines) {
    const bool here = line.rfind("=> ", 0) == 0;
    if (here && wait) break;
    behind = behind || here;
    std::smatch match;
    if (std::regex_search(line, match, kInstruction)) {
      wait = ReadWait(match, lines);
      if (behind) break;
    } else if (behind && line.find("YIELD") == line.npos && line.find("NOP") == line.npos) {
      break;
    }
  }
  return wait;
}

std::optional<uint64_t> ParseWord(std::string_view text) {
  static const std::regex kWord(R"(^0x[0-9a-f]+:\s+(0x[0-9a-f]+))");
  for (const std::string& line : Lines(text)) {
    std::smatch match;
    if (std::regex_search(line, match, kWord)) return Hex(match[1]);
  }
  return std::nullopt;
}

Result<CoreReport> ReadCore(const std::string& path) {
  Result<std::string> program = FindTool("cuda-gdb", "STREAMSAN_CUDA_GDB", "");
  if (!program) {
    return Fail("cuda-gdb", "not found",
                "it comes with the CUDA toolkit: put it in PATH, or name it in STREAMSAN_CUDA_GDB");
  }
  Result<std::string> overview = Ask(
      *program, path, {"echo @@0@@\\n", "info cuda kernels", "echo @@1@@\\n", "info cuda warps"});
  if (!overview) return tl::unexpected(overview.error());
  const std::vector<std::string> parts = Answers(*overview, 2);
  CoreReport report;
  for (const std::string& line : Lines(parts[0])) {
    if (line.find('(') != line.npos && line.find("GridDim") == line.npos)
      report.kernels.push_back(line);
  }
  std::vector<CoreGroup> places = Places(ParseWarps(parts[1]));
  if (places.empty())
    return Fail(path, "cuda-gdb shows no warps in it",
                "it takes a core dump of the GPU, made while a kernel runs");
  for (size_t i = kMostPlaces; i < places.size(); ++i) report.unread += places[i].warps;
  places.resize(std::min(places.size(), kMostPlaces));
  if (Result<void> done = AskForWaits(*program, path, places); !done)
    return tl::unexpected(done.error());
  if (Result<void> done = AskForWords(*program, path, places); !done)
    return tl::unexpected(done.error());
  report.groups = Merge(std::move(places));
  return report;
}

}  // namespace ss::kernels
