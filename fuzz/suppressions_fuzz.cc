// Any text is a list of suppressions or a located error, and any list can be asked. Seeds: the
// lines of fuzz/seeds.sh.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/report/suppressions.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Ask(std::vector<ss::Suppression> lines) {
  ss::Symboliser symbols;
  symbols.AddProcess();
  symbols.AddStack(1, {{"moe::combine(float*)", "moe.cc", 211, "/opt/moe.so", 0x40}}, {0x1234});
  ss::Finding finding;
  finding.code = "lifetime";
  finding.buffer.name = "unpermuted";
  finding.first.name = "unpermute_bwd";
  finding.first.stack = 1;
  finding.second.lane = "compute";
  const bool fits = ss::Suppress(lines, finding, symbols);
  uint64_t matched = 0;
  for (const ss::Suppression& line : lines) matched += line.matched;
  Require(fits == (matched != 0));
  ss::Advice advice;
  advice.code = "redundant-wait";
  advice.subject = "done";
  ss::Suppress(lines, advice);
}

// What is written for a finding suppresses it, whatever its names are.
void Write(std::string_view name) {
  ss::Symboliser symbols;
  ss::Finding finding;
  finding.code = "lifetime";
  finding.first.name = name;
  finding.second.name = name;
  for (const char* buffer : {"", "a"}) {
    finding.buffer.name = *buffer ? std::string(name) : "";
    for (ss::OpId op : {0, 7}) {
      finding.second.op = op;
      const std::string written = ss::SuppressionFor(finding, symbols);
      Require(written.empty() == name.empty());
      if (written.empty()) continue;
      auto lines = ss::ParseSuppressions(written, "written.supp");
      Require(lines && lines->size() == 1 && ss::Suppress(*lines, finding, symbols));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ss::Result<std::vector<ss::Suppression>> lines = ss::ParseSuppressions(text, "fuzz.supp");
  if (lines) {
    Ask(std::move(*lines));
  } else {
    Require(lines.error().place.rfind("fuzz.supp:", 0) == 0 && !lines.error().message.empty());
  }
  Write(text.substr(0, text.find('\0')));
  return 0;
}
