// Pieces that pages are put together from. For .cc files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/report/story.h"

namespace ss {

extern const char kPageStyle[];   // page/page.css
extern const char kPageScript[];  // page/*.js

std::string Escaped(const std::string& text);  // for HTML text and attributes

// One hazard: heading, sentence, answers, then what is folded away.
struct PageHazard {
  std::string alias, code, sure, label, wrong;
  std::vector<Answer> answers;
  std::vector<std::pair<std::string, std::vector<std::string>>> more;  // heading, lines
};

// The move of ordered_json is not marked noexcept throughout.
struct Page {  // NOLINT(bugprone-exception-escape)
  std::string title, coverage, legend;
  std::vector<std::string> gaps;
  std::vector<PageHazard> hazards;
  std::vector<std::string> advice;
  nlohmann::ordered_json data;  // what page.js reads
};

std::string PrintPage(const Page& page);

}  // namespace ss
