#include "tests/random/text.h"

namespace ss::random {
namespace {

constexpr OpId kRestOf = 1'000'000;  // added to the number of a kernel for the rest of it

bool IsEarly(const Program& program, const Op& op) {
  return op.kind == OpKind::kKernel && op.flags & kPdlWait && op.access_count != 0 &&
         program.strings.Get(op.name).ends_with(kEarly);
}

void SplitAtGridWait(Program* program, size_t i) {
  Op& first = program->ops[i];
  Op rest = first;
  first.flags &= ~uint32_t{kPdlWait};
  first.access_count = 1;
  rest.flags = (rest.flags & ~uint32_t{kLaunchEvent}) | kAfterGridWait;
  rest.object = 0;
  rest.id += kRestOf;
  ++rest.access_begin;
  --rest.access_count;
  program->ops.insert(program->ops.begin() + static_cast<ptrdiff_t>(i) + 1, rest);
}

}  // namespace

std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::unique_ptr<Program> Parse(const Lines& lines, std::string* error) {
  auto file = ParseLitmus(Join(lines), "random.litmus");
  if (!file) {
    if (error != nullptr) *error = file.error().Text();
    return nullptr;
  }
  auto program = std::make_unique<Program>(std::move(file->program));
  for (size_t i = 0; i < program->ops.size(); ++i) {
    if (IsEarly(*program, program->ops[i])) SplitAtGridWait(program.get(), i++);
  }
  return program;
}

}  // namespace ss::random
