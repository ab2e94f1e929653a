#include "src/report/baseline.h"

#include <nlohmann/json.hpp>

#include "src/report/sarif.h"

namespace ss {
namespace {

using Json = nlohmann::json;

bool IsReport(const Json& root) {
  return root.is_object() && root.contains("hazards") && root["hazards"].is_array();
}

bool IsSarif(const Json& root) {
  return root.is_object() && root.contains("runs") && root["runs"].is_array();
}

void Take(std::set<std::string>& ids, const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) return;
  ids.insert(object[key].get<std::string>());
}

}  // namespace

Result<std::set<std::string>> ParseBaseline(std::string_view text, const std::string& file) {
  const Json root = Json::parse(text, nullptr, false);
  std::set<std::string> ids;
  if (IsReport(root)) {
    for (const Json& hazard : root["hazards"]) Take(ids, hazard, "id");
    return ids;
  }
  if (IsSarif(root)) {
    for (const Json& run : root["runs"]) {
      if (!run.is_object() || !run.contains("results") || !run["results"].is_array()) continue;
      for (const Json& result : run["results"]) {
        if (result.is_object() && result.contains("partialFingerprints"))
          Take(ids, result["partialFingerprints"], kSarifFingerprint);
      }
    }
    return ids;
  }
  return Fail(file, root.is_discarded() ? "is not JSON" : "is no report of streamsan",
              "a baseline is what --format json or --format sarif wrote");
}

}  // namespace ss
