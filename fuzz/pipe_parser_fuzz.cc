// Any text is a protocol or a located error, and any protocol gets a verdict; never a crash. Seeds:
// tests/litmus/pipe.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/pipeline/check.h"
#include "src/pipeline/picture.h"
#include "src/pipeline/protocol.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// What the checker takes for granted.
void CheckProtocol(const ss::pipeline::Protocol& protocol) {
  uint64_t steps = 0;
  for (const ss::pipeline::Role& role : protocol.roles) {
    Require(role.warps >= 1 && role.warps <= ss::pipeline::kMaxAgents);
    steps += uint64_t{role.warps} * role.ops.size();
    for (const ss::pipeline::Op& op : role.ops) Text(protocol, op);
  }
  Require(steps <= ss::pipeline::kMaxOps);
  for (const ss::pipeline::Pipe& pipe : protocol.pipes) {
    Require(pipe.stages >= 1 && !pipe.producers.roles.empty() && pipe.producers.arrivals >= 1);
    for (uint32_t role : pipe.consumers.roles) Require(role < protocol.roles.size());
  }
}

// Few states: what is looked for is a crash, not a hang.
void CheckVerdict(const ss::pipeline::Protocol& protocol) {
  const ss::pipeline::Program program = ss::pipeline::Lower(protocol);
  const ss::pipeline::Verdict verdict = Check(program, {500});
  Match(protocol, verdict);
  size_t shown = 0;
  for (const ss::pipeline::Finding& finding : verdict.findings) {
    Require(!finding.text.empty() && !finding.role.empty() && finding.line > 0);
    if (++shown <= 10) MakePicture(program, finding);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ss::Result<ss::pipeline::Protocol> file = ss::pipeline::ParseProtocol(text, "fuzz.pipe");
  if (file) {
    CheckProtocol(*file);
    CheckVerdict(*file);
  } else {
    Require(file.error().place.rfind("fuzz.pipe:", 0) == 0 && !file.error().message.empty());
  }
  return 0;
}
