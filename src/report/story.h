// A hazard as five questions and their answers: what every page and `explain` say first.
#pragma once

#include <string>
#include <vector>

#include "src/report/print.h"

namespace ss {

struct Answer {
  std::string question;
  std::string text;
  bool early = false;  // it is the one that comes too soon
};

std::vector<Answer> AnswersOf(const PrintInput& input, const Finding& finding);

// The two operations that the missing edge would join; null where no edge is what is missing.
struct MissingEdge {
  const Site* from = nullptr;
  const Site* to = nullptr;
};
MissingEdge EdgeOf(const Finding& finding);

// "verified: gone with 3 alike, nothing new, no wait added".
std::string VerifiedText(const Fix& fix);

}  // namespace ss
