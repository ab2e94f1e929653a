// What `streamsan pipeline watch` saw of a program's mbarriers, for people and for programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/pipeline/observe.h"

namespace ss {

// An instruction of a kernel, where it could be looked up.
struct PlaceText {
  std::string sass;
  std::vector<std::string> lines;  // innermost first
};

struct ObservedReport {
  std::string source;  // the recording's file, or the program
  pipeline::Observation seen;
  std::map<std::pair<size_t, pipeline::Place>, PlaceText> places;  // kernel, place
  std::string places_problem;                                      // why none could be looked up

  uint64_t Hazards() const { return seen.findings.size(); }
  std::string CoverageText() const;  // "Not seen: ..."
  bool Complete() const;             // nothing dropped, unwatched or cut short
};

// Hazards first; then, for each kernel, its roles, pipelines and what was not seen; the count last.
std::string PrintObservedText(const std::vector<ObservedReport>& reports, uint64_t print_limit);

// One object, "schema": 1, with the keys of every other report and "kernels": what was seen.
std::string PrintObservedJson(const std::vector<ObservedReport>& reports);

}  // namespace ss
