// Any text is a program or a located error, never a crash. Seeds: tests/litmus.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/litmus/litmus.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// What the engine takes for granted of a lowered program.
void CheckProgram(const ss::Program& program) {
  uint64_t last = 0;
  for (const ss::Op& op : program.ops) {
    Require(op.id == ++last);
    Require(op.name < program.strings.size() && op.label < program.strings.size());
    Require(uint64_t{op.access_begin} + op.access_count <= program.accesses.size());
    Require(op.kind != ss::OpKind::kCopy || op.access_count == 2);
  }
  for (const ss::Access& access : program.accesses) {
    Require(access.begin < access.end);
    Require(access.memory != ss::MemoryKind::kUnknown);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ss::ParseExpectedError(text);
  ss::Result<ss::LitmusFile> file = ss::ParseLitmus(text, "fuzz.litmus");
  if (file) {
    CheckProgram(file->program);
  } else {
    Require(file.error().place.rfind("fuzz.litmus:", 0) == 0 && !file.error().message.empty());
  }
  return 0;
}
