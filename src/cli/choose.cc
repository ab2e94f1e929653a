#include "src/cli/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/cli/analysed.h"

namespace ss {
namespace {

constexpr size_t kListed = 12;

bool Names(const Selection::Hazard& hazard, const std::string& id) {
  std::string upper = id;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return hazard.alias == upper || (id.size() >= 4 && hazard.id.compare(0, id.size(), id) == 0);
}

Error Unknown(const std::string& path, const std::string& id, const Selection& selection,
              const Coverage& coverage) {
  std::string known;
  for (const Selection::Hazard& hazard : selection.hazards) {
    if (std::stoul(hazard.alias.substr(1)) > kListed) break;
    known += fmt::format("{}{} {} ({} {})", known.empty() ? "" : ", ", hazard.alias, hazard.id,
                         hazard.finding->code, hazard.finding->buffer.name);
  }
  if (selection.hazards.size() > kListed)
    known += fmt::format(" and {} more", selection.hazards.size() - kListed);
  std::string remedy = known.empty()
                           ? "there is none; --min-confidence possible shows what is less certain"
                           : "there are " + known;
  if (LacksProcesses(coverage)) {
    remedy +=
        "; it shares memory with processes whose traces are not here: name the folder that "
        "holds the traces of all of them";
  }
  return {path, fmt::format("no hazard '{}'", id), remedy};
}

}  // namespace

Result<Selection> ChooseHazard(const Report& report, const ReportOptions& options,
                               const std::string& path, const std::string& id,
                               Symboliser& symbols) {
  SelectOptions select;
  select.min_confidence = options.min_confidence.value_or(Confidence::kLikely);
  Selection selection = Select(report, std::move(select), symbols);
  auto& hazards = selection.hazards;
  const Error unknown = Unknown(path, id, selection, report.coverage);
  std::erase_if(hazards, [&](const auto& hazard) { return !Names(hazard, id); });
  if (hazards.empty()) return tl::unexpected(unknown);
  hazards.resize(1);  // the same hazard on another rank is told the same way
  return selection;
}

}  // namespace ss
