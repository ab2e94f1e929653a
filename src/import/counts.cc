#include "src/import/counts.h"

#include <fmt/format.h>

namespace ss {
namespace {

struct Row {
  bool spoils;
  const char* text;
};

constexpr Row kRows[] = {
#define SS_COUNT_ROW(name, spoils, text) {spoils, text},
    SS_IMPORT_COUNTS(SS_COUNT_ROW)
#undef SS_COUNT_ROW
};
static_assert(std::size(kRows) == static_cast<size_t>(Count::kCountEnd));

}  // namespace

void Counts::Report(Coverage& coverage) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i] == 0) continue;
    coverage.notes.push_back(fmt::format("{}: {}", kRows[i].text, values_[i]));
    if (kRows[i].spoils) coverage.complete = false;
  }
}

}  // namespace ss
