// One run's log in SARIF 2.1.0: rules, results and what was not seen. For .cc files of this folder.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/program/finding.h"

namespace ss {

// A result's rank.
constexpr double SarifRank(Confidence confidence) {
  constexpr double kRank[] = {30, 70, 100};  // possible, likely, certain
  return kRank[static_cast<size_t>(confidence)];
}

class SarifLog {
 public:
  using Json = nlohmann::ordered_json;

  static Json Text(const std::string& text) { return {{"text", text}}; }
  // Line 0 = the file as a whole.
  static Json Physical(const std::string& file, uint32_t line);
  static Json Logical(const std::string& name) {
    return {{"fullyQualifiedName", name}, {"kind", "function"}};
  }

  // A result of the rule `code`; `level`: error, warning or note. The caller adds the rest.
  Json Result(const std::string& code, const char* level, const std::string& message);
  void Add(Json result) { results_.push_back(std::move(result)); }
  // What was not seen is said as notifications: a viewer that shows no result must not mean
  // "clean".
  void Note(const std::string& text, bool warning);

  std::string Print(const std::string& command_line) const;

 private:
  size_t Rule(const std::string& code, const char* level);

  Json rules_ = Json::array(), results_ = Json::array(), notes_ = Json::array();
  std::map<std::string, size_t> rule_of_;
};

}  // namespace ss
