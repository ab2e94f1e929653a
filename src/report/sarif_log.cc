#include "src/report/sarif_log.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "src/report/words.h"

namespace ss {
namespace {

// A file's name as a URI reference: what must not stand in one is percent-encoded.
std::string UriOf(const std::string& path) {
  std::string uri = !path.empty() && path[0] == '/' ? "file://" : "";
  for (unsigned char c : path) {
    const bool plain = std::isalnum(c) || std::string_view("/-._~+").find(static_cast<char>(c)) !=
                                              std::string_view::npos;
    uri += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri;
}

}  // namespace

SarifLog::Json SarifLog::Physical(const std::string& file, uint32_t line) {
  Json place = {{"artifactLocation", {{"uri", UriOf(file)}}}};
  if (line != 0) place["region"] = {{"startLine", line}};
  return place;
}

size_t SarifLog::Rule(const std::string& code, const char* level) {
  auto [at, fresh] = rule_of_.try_emplace(code, rules_.size());
  if (fresh) {
    rules_.push_back({{"id", code},
                      {"shortDescription", Text(CodeText(code))},
                      {"defaultConfiguration", {{"level", level}}}});
  }
  return at->second;
}

SarifLog::Json SarifLog::Result(const std::string& code, const char* level,
                                const std::string& message) {
  return {{"ruleId", code},
          {"ruleIndex", Rule(code, level)},
          {"level", level},
          {"message", Text(message)}};
}

void SarifLog::Note(const std::string& text, bool warning) {
  notes_.push_back({{"level", warning ? "warning" : "note"}, {"message", Text(text)}});
}

std::string SarifLog::Print(const std::string& command_line) const {
  Json driver = {{"name", "StreamSan"}, {"version", STREAMSAN_VERSION}, {"rules", rules_}};
  Json invocation = {{"executionSuccessful", true},
                     {"commandLine", command_line},
                     {"toolExecutionNotifications", notes_}};
  Json run = {{"tool", {{"driver", driver}}},
              {"invocations", Json::array({invocation})},
              {"results", results_},
              {"columnKind", "unicodeCodePoints"}};
  Json root = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({run})}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ss
