// streamsan._core: the analysis for Python. One function, JSON out: the report's format is stable
// and documented, so Python's data classes follow it and not the C++ structs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "src/base/file.h"
#include "src/cli/environment.h"
#include "src/cli/output.h"
#include "src/cli/process_analysis.h"
#include "src/report/print.h"

namespace nb = nanobind;

namespace ss {
namespace {

struct CheckRequest {
  std::vector<std::string> paths;
  std::string min_confidence;
  bool strict = false;
  std::string suppressions;
  bool text = false;
};

Result<std::vector<Suppression>> ReadSuppressions(const std::string& path) {
  if (path.empty()) return std::vector<Suppression>{};
  Result<std::string> text = ReadText(path);
  if (!text) return tl::unexpected(text.error());
  return ParseSuppressions(*text, path);
}

Result<std::string> Check(const CheckRequest& request) {
  CheckCommandOptions options;
  options.paths = request.paths;
  options.report.strict = request.strict;
  options.report.min_confidence = ParseConfidence(request.min_confidence);
  if (!options.report.min_confidence) {
    return Fail("min_confidence", "'" + request.min_confidence + "'",
                "one of certain, likely, possible");
  }
  Result<std::vector<Suppression>> suppressions = ReadSuppressions(request.suppressions);
  if (!suppressions) return tl::unexpected(suppressions.error());
  Symboliser symbols;
  Result<Report> report = AnalyseInputs(options, symbols);
  if (!report) return tl::unexpected(report.error());
  SelectOptions select{*options.report.min_confidence, std::move(*suppressions)};
  Selection selection = Select(*report, std::move(select), symbols);
  PrintInput input{*report, selection, symbols};
  return request.text ? PrintText(input, PrintOptions{}) : PrintJson(input);
}

std::string CheckOrThrow(std::vector<std::string> paths, std::string min_confidence, bool strict,
                         std::string suppressions, bool text) {
  CheckRequest request{std::move(paths), std::move(min_confidence), strict, std::move(suppressions),
                       text};
  Result<std::string> report = [&] {
    nb::gil_scoped_release unlocked;
    return Check(request);
  }();
  if (!report) throw nb::value_error(report.error().Text().c_str());
  return *std::move(report);
}

}  // namespace
}  // namespace ss

NB_MODULE(_core, module) {
  module.doc() = "StreamSan's analysis. Use streamsan.check().";
  module.def(
      "check", &ss::CheckOrThrow, nb::arg("paths"), nb::arg("min_confidence") = "likely",
      nb::arg("strict") = false, nb::arg("suppressions") = "", nb::arg("text") = false,
      "Analyses traces, directories of them and litmus files; one report over all, as JSON or "
      "as text. ValueError: an input that cannot be read.");
  module.attr("version") = STREAMSAN_VERSION;
}
