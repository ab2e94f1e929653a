#include "src/kernels/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ss::kernels {
namespace {

using Json = nlohmann::ordered_json;

constexpr Root kRoots[] = {Root::kParam,    Root::kParamTable, Root::kTensorMap,
                           Root::kIndirect, Root::kGlobal,     Root::kTexture};

Json AccessJson(const Access& access) {
  Json json = {{"root", RootName(access.root)},
               {"offset", access.offset},
               {"end", access.end},
               {"modes", access.Modes()},
               {"before_grid_wait", access.before_grid_wait}};
  const bool partly = access.before_grid_wait && access.EarlyModes() != access.Modes();
  if (partly) json["early_modes"] = access.EarlyModes();
  if (access.stride) json["stride"] = access.stride;
  if (access.first != access.last) json["bytes"] = {access.first, access.last};
  if (access.scattered) json["scattered"] = true;
  if (!access.symbol.empty()) json["symbol"] = access.symbol;
  if (access.polled) json["polled"] = true;
  if (access.ambiguous) json["ambiguous"] = true;
  return json;
}

Json ParamsJson(const KernelSummary& summary) {
  Json params = Json::array();
  for (const Parameter& one : summary.params) {
    params.push_back({{"offset", one.offset}, {"size", one.size}});
  }
  return params;
}

Json AccessesJson(const KernelSummary& summary) {
  Json accesses = Json::array();
  for (const Access& one : summary.accesses) accesses.push_back(AccessJson(one));
  return accesses;
}

Json KernelJson(const KernelSummary& summary) {
  return {{"name", summary.name},           {"arch", fmt::format("sm_{}", summary.arch)},
          {"resolved", summary.resolved()}, {"flags", summary.Flags()},
          {"params", ParamsJson(summary)},  {"accesses", AccessesJson(summary)}};
}

Access ReadAccess(const Json& json) {
  Access access;
  std::string root = json.at("root");
  for (Root one : kRoots) {
    if (RootName(one) == root) access.root = one;
  }
  access.offset = json.at("offset");
  access.end = json.at("end");
  const std::string modes = json.at("modes");
  access.reads = modes.find('R') != modes.npos;
  access.writes = modes.find('W') != modes.npos;
  access.updates = modes.find('A') != modes.npos;
  access.before_grid_wait = json.at("before_grid_wait");
  const std::string early = access.before_grid_wait ? json.value("early_modes", modes) : "";
  access.early_reads = early.find('R') != early.npos;
  access.early_writes = early.find('W') != early.npos;
  access.early_updates = early.find('A') != early.npos;
  access.stride = json.value("stride", 0u);
  access.symbol = json.value("symbol", "");
  if (json.contains("bytes")) {
    access.first = json["bytes"].at(0);
    access.last = json["bytes"].at(1);
  }
  access.scattered = json.value("scattered", false);
  access.polled = json.value("polled", false);
  access.ambiguous = json.value("ambiguous", false);
  return access;
}

// Names in machine code are bytes; what is no UTF-8 is replaced rather than refused.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string KernelsJson(const std::vector<KernelSummary>& kernels,
                        const std::vector<std::string>& notes) {
  Json list = Json::array();
  for (const KernelSummary& one : kernels) list.push_back(KernelJson(one));
  Json json = {{"kernels", std::move(list)}, {"notes", notes}};
  return Dump(json, 1) + "\n";
}

std::string Pack(const KernelSummary& summary) {
  Json differences = Json::array();
  for (const PointerDifference& one : summary.differences) differences.push_back(one.offset);
  Json json = {{"version", kAnalyserVersion},
               {"name", summary.name},
               {"arch", summary.arch},
               {"hash", summary.hash},
               {"params", ParamsJson(summary)},
               {"accesses", AccessesJson(summary)},
               {"unresolved", summary.unresolved},
               {"differences", std::move(differences)},
               {"waits_for_grid", summary.waits_for_grid},
               {"launches_dependents", summary.launches_dependents},
               {"access_sites", summary.access_sites}};
  return Dump(json, -1);
}

Result<KernelSummary> Unpack(std::string_view text, const std::string& place) {
  KernelSummary summary;
  try {
    Json json = Json::parse(text);
    if (json.at("version") != kAnalyserVersion) return Fail(place, "of another version");
    summary.name = json.at("name");
    summary.arch = json.at("arch");
    summary.hash = json.at("hash");
    for (const Json& one : json.at("params"))
      summary.params.push_back({one.at("offset"), one.at("size")});
    for (const Json& one : json.at("accesses")) summary.accesses.push_back(ReadAccess(one));
    summary.unresolved = json.at("unresolved").get<std::vector<std::string>>();
    for (const Json& one : json.at("differences"))
      summary.differences.push_back({one.get<int32_t>()});
    summary.waits_for_grid = json.at("waits_for_grid");
    summary.launches_dependents = json.at("launches_dependents");
    summary.access_sites = json.at("access_sites");
  } catch (const nlohmann::json::exception& error) {  // the library's way to say no; ends here
    return Fail(place, fmt::format("damaged: {}", error.what()));
  }
  return summary;
}

}  // namespace ss::kernels
