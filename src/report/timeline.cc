#include "src/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/program/op_names.h"
#include "src/report/words.h"

namespace ss {
namespace {

constexpr char kMark[] = " ? ";

struct Cell {
  std::string lane;
  std::string text;
  bool key = false;  // one of the finding's own operations, or the mark: never left out
};

// Where the edge is missing: before the new tenant's write if the storage was handed out again,
// else before the later of the two.
const Site& Target(const Finding& finding) {
  if (finding.reuse.op) return finding.reuse;
  return finding.second.op > finding.first.op ? finding.second : finding.first;
}

std::vector<const Site*> KeySites(const Finding& finding) {
  std::vector<const Site*> sites = {&finding.first};
  if (finding.second.op) sites.push_back(&finding.second);
  if (finding.reuse.op) sites.push_back(&finding.reuse);
  return sites;
}

std::string KeyText(const Finding& finding, const Site& site) {
  if (&site == &finding.reuse) {
    return fmt::format("[{} {} {}]", site.op, site.name, finding.buffer.name);
  }
  std::string access = AccessText(site, finding.buffer.name);
  return fmt::format("[{} {}]", site.op, access.substr(0, access.find('[')));
}

std::string OtherText(const Site& site) {
  std::string kind = Name(site.kind);
  bool says_kind = site.name.compare(0, kind.size(), kind) == 0;
  if (!site.name.empty()) kind = says_kind ? site.name : kind + " " + site.name;
  return fmt::format("{} {}", site.op, kind);
}

// The small picture has room for what orders.
bool Orders(const Site& site) {
  return site.kind == OpKind::kStreamWaitEvent || site.kind == OpKind::kEventRecord ||
         site.kind == OpKind::kStreamSync;
}

std::vector<Cell> Cells(const Finding& finding) {
  std::vector<const Site*> keys = KeySites(finding), sites = keys;
  auto is_key = [&](const Site& site) {
    return std::any_of(keys.begin(), keys.end(), [&](auto* key) { return key->op == site.op; });
  };
  for (const Site& site : finding.timeline) {
    if (!is_key(site) && Orders(site)) sites.push_back(&site);
  }
  std::stable_sort(sites.begin(), sites.end(), [](auto* a, auto* b) { return a->op < b->op; });
  std::vector<Cell> cells;
  for (const Site* site : sites) {
    if (site == &Target(finding)) cells.push_back({LaneText(*site), kMark, true});
    bool key = is_key(*site);
    cells.push_back({LaneText(*site), key ? KeyText(finding, *site) : OtherText(*site), key});
  }
  return cells;
}

std::vector<std::string> Lanes(const Finding& finding) {
  std::vector<std::string> lanes;
  for (const Site* site : KeySites(finding)) {
    std::string lane = LaneText(*site);
    if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
  }
  return lanes;
}

void Shorten(std::vector<Cell>& cells, const std::vector<std::string>& lanes, size_t width) {
  auto other = [&](const Cell& cell) {
    return std::find(lanes.begin(), lanes.end(), cell.lane) == lanes.end();
  };
  cells.erase(std::remove_if(cells.begin(), cells.end(), other), cells.end());
  size_t total = 2;
  for (const Cell& cell : cells) total += cell.text.size() + 2;
  for (auto at = cells.begin(); at != cells.end() && total > width;) {
    if (at->key) {
      ++at;
    } else {
      total -= at->text.size() + 2;
      at = cells.erase(at);
    }
  }
}

}  // namespace

std::vector<std::string> DrawTimeline(const Finding& finding, size_t width) {
  if (IsCollective(finding)) return {};  // no edge is missing there
  std::vector<std::string> lanes = Lanes(finding), rows;
  size_t name_width = 0;
  for (const std::string& lane : lanes) name_width = std::max(name_width, lane.size());
  std::vector<Cell> cells = Cells(finding);
  Shorten(cells, lanes, width > name_width + 2 ? width - name_width - 2 : 0);
  for (const std::string& lane : lanes) {
    std::string row = fmt::format("{:<{}}  ", lane, name_width);
    for (const Cell& cell : cells) {
      row += "--" + (cell.lane == lane ? cell.text : std::string(cell.text.size(), '-'));
    }
    rows.push_back(row + "--");
  }
  return rows;
}

}  // namespace ss
