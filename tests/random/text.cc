#include "tests/random/text.h"

namespace ss::random {

std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::unique_ptr<Program> Parse(const Lines& lines, std::string* error) {
  auto file = ParseLitmus(Join(lines), "random.litmus");
  if (file) return std::make_unique<Program>(std::move(file->program));
  if (error != nullptr) *error = file.error().Text();
  return nullptr;
}

}  // namespace ss::random
