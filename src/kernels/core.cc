#include "src/kernels/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "src/kernels/process.h"
#include "src/kernels/tools.h"

namespace ss::kernels {
namespace {

constexpr int kTimeout = 120;  // seconds; a core of a large GPU takes its time
constexpr size_t kMostGroups = 32;

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

std::vector<CoreGroup> Group(const std::vector<CoreWarp>& warps) {
  std::map<uint64_t, CoreGroup> groups;
  std::map<uint64_t, std::set<std::string>> blocks;
  for (const CoreWarp& warp : warps) {
    CoreGroup& group = groups[warp.pc];
    if (group.warps++ == 0) group.example = warp;
    group.pc = warp.pc;
    blocks[warp.pc].insert(warp.kernel + warp.block);
  }
  std::vector<CoreGroup> sorted;
  for (auto& [pc, group] : groups) {
    group.blocks = blocks[pc].size();
    sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CoreGroup& a, const CoreGroup& b) { return a.warps > b.warps; });
  if (sorted.size() > kMostGroups) sorted.resize(kMostGroups);
  return sorted;
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

std::optional<CoreWait> ParseWait(std::string_view text) {
  static const std::regex kInstruction(
      R"(<(.+)>:\s*((?:@!?U?P\w+ )?SYNCS\.PHASECHK\S* U?P\w+,?\s*\[([^\]]+)\],\s*(U?R\w+).*))");
  const std::vector<std::string> lines = Lines(text);
  // The pc stands on the branch behind the look: the last look before it.
  std::optional<CoreWait> wait;
  for (const std::string& line : lines) {
    if (line.rfind("=> ", 0) == 0 && wait) break;
    std::smatch match;
    if (!std::regex_search(line, match, kInstruction)) {
      if (line.rfind("=> ", 0) == 0) break;
      continue;
    }
    wait = CoreWait{match[1], match[2], 0, 0};
    uint64_t address = 0;
    std::string operand = match[3];
    for (size_t at = 0; at <= operand.size();) {
      const size_t plus = std::min(operand.find('+', at), operand.size());
      const std::string part = operand.substr(at, plus - at);
      address += part.rfind("0x", 0) == 0 ? Hex(part) : Register(lines, part);
      at = plus + 1;
    }
    wait->barrier = static_cast<uint32_t>(address);
    wait->parity = static_cast<uint32_t>(Register(lines, match[4]) >> 31 & 1);
    if (line.rfind("=> ", 0) == 0) break;
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
  report.groups = Group(ParseWarps(parts[1]));
  if (report.groups.empty())
    return Fail(path, "cuda-gdb shows no warps in it",
                "it takes a core dump of the GPU, made while a kernel runs");

  std::vector<std::string> questions;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    questions.insert(questions.end(),
                     {fmt::format("echo @@{}@@\\n", i), Focus(report.groups[i].example),
                      "x/9i $pc-64", "info registers"});
  }
  Result<std::string> places = Ask(*program, path, questions);
  if (!places) return tl::unexpected(places.error());
  const std::vector<std::string> at = Answers(*places, report.groups.size());
  questions.clear();
  for (size_t i = 0; i < report.groups.size(); ++i) {
    CoreGroup& group = report.groups[i];
    group.wait = ParseWait(at[i]);
    questions.push_back(fmt::format("echo @@{}@@\\n", i));
    if (!group.wait) continue;
    questions.push_back(Focus(group.example));
    questions.push_back(
        fmt::format("x/1gx (@shared unsigned long*)0x{:x}", group.wait->barrier & 0xffffff));
  }
  Result<std::string> words = Ask(*program, path, questions);
  if (!words) return tl::unexpected(words.error());
  const std::vector<std::string> word = Answers(*words, report.groups.size());
  for (size_t i = 0; i < report.groups.size(); ++i) report.groups[i].word = ParseWord(word[i]);
  return report;
}

}  // namespace ss::kernels
