#include "src/report/rows.h"

#include <fmt/format.h>

#include "src/report/words.h"

namespace ss {
namespace {

// The finding's operations with their roles, in the order in which they are told.
std::vector<Row> Roles(const Finding& finding) {
  bool lifetime = finding.code == "lifetime";
  const char* second = finding.second.access == "alloc" ? "alloc" : "free";
  std::vector<Row> rows(1);
  rows[0].role = lifetime ? "use" : "first";
  rows[0].site = &finding.first;
  for (const Site* site : {&finding.second, &finding.reuse}) {
    if (!site->op) continue;
    rows.emplace_back();
    rows.back().role = site == &finding.reuse ? "reuse" : lifetime ? second : "second";
    rows.back().site = site;
  }
  return rows;
}

}  // namespace

std::string PlaceText(const PrintInput& input, const std::string& source, StackId stack,
                      uint32_t line, const std::vector<StackId>& others) {
  if (line) {
    const std::string& file = source.empty() ? input.report.program : source;
    return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line);
  }
  std::vector<const std::vector<Frame>*> stacks;
  for (StackId other : others) {
    if (other != stack) stacks.push_back(&input.symbols.Frames(other));
  }
  const Frame* frame = SiteOf(input.symbols.Frames(stack), stacks);
  return frame ? ShortText(*frame) : "";
}

std::vector<Row> RowsOf(const PrintInput& input, const Finding& finding) {
  std::vector<Row> rows = Roles(finding);
  std::vector<StackId> stacks;
  stacks.reserve(rows.size());
  for (const Row& row : rows) stacks.push_back(row.site->stack);
  for (Row& row : rows) {
    const Site& site = *row.site;
    if (site.op) row.op = fmt::format("op {}", site.op);
    row.name = KernelText(site.name);
    row.lane = LaneText(site);
    row.access = AccessText(site, finding.buffer.name);
    if (IsCollective(finding)) {
      row.lane = fmt::format("rank{} {}", site.rank, site.lane);
      row.access = "on " + finding.buffer.name;
    }
    if (&site == &finding.reuse && finding.struck) row.access = "struck in this run";
    row.place = PlaceText(input, finding.source, site.stack, site.line, stacks);
  }
  return rows;
}

std::vector<std::string> StackLines(const PrintInput& input, const Row& row, size_t most) {
  std::vector<std::string> lines;
  const std::vector<Frame>& frames = input.symbols.Frames(row.site->stack);
  if (frames.size() < 2) return lines;
  lines.push_back(fmt::format("{} {} was issued by {} at", row.role, row.op, row.site->host));
  for (const Frame& frame : frames) {
    if (lines.size() > most) break;
    if (!IsProgramFrame(frame)) continue;
    lines.push_back(fmt::format("  #{} {}  {}", lines.size() - 1,
                                frame.fn.empty() ? "?" : FunctionText(frame.fn), ShortText(frame)));
  }
  return lines;
}

}  // namespace ss
