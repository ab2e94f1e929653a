#include "src/litmus/litmus.h"

#include <fmt/format.h>

#include <charconv>

#include "src/litmus/parser.h"

namespace ss {
namespace {

constexpr std::string_view kErrorMark = "#!error";

}  // namespace

std::optional<ExpectedError> ParseExpectedError(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.substr(0, kErrorMark.size()) != kErrorMark) return std::nullopt;
  const char* at = line.data() + kErrorMark.size();
  const char* end = line.data() + line.size();
  ExpectedError expected;
  while (at != end && *at == ' ') ++at;
  auto row = std::from_chars(at, end, expected.line);
  if (row.ec != std::errc{} || row.ptr == end || *row.ptr != ':') return std::nullopt;
  auto column = std::from_chars(row.ptr + 1, end, expected.column);
  if (column.ec != std::errc{}) return std::nullopt;
  expected.text.assign(column.ptr, end);
  expected.text.erase(0, expected.text.find_first_not_of(" \t"));
  expected.text.erase(expected.text.find_last_not_of(" \t\r") + 1);
  return expected;
}

Result<LitmusFile> ParseLitmus(std::string_view text, const std::string& file_name) {
  try {
    litmus::Parser first(file_name, nullptr);
    LitmusFile file = first.Run(text);
    if (!first.needs_second_pass()) return file;
    litmus::Parser second(file_name, &first.declared());
    return second.Run(text);
  } catch (litmus::SyntaxError& error) {
    return Fail(fmt::format("{}:{}:{}", file_name, error.line, error.column),
                std::move(error.message), std::move(error.remedy));
  }
}

}  // namespace ss
