#include "src/pipeline/runner.h"

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/pipeline/check.h"

namespace ss::pipeline {
namespace {

using Status = LitmusOutcome::Status;

LitmusOutcome JudgeRefusal(const Error& error, const std::string& name,
                           const std::optional<ExpectedError>& expected) {
  if (!expected) return {Status::kMalformed, {error.Text()}};
  const std::string place = fmt::format("{}:{}:{}", name, expected->line, expected->column);
  if (error.place == place && error.Text().find(expected->text) != std::string::npos) return {};
  return {Status::kMalformed,
          {error.Text(), fmt::format("{}: expected a refusal with '{}'", place, expected->text)}};
}

}  // namespace

LitmusOutcome RunPipeText(std::string_view text, const std::string& name) {
  auto expected = ParseExpectedError(text);
  if (!expected && text.substr(0, 7) == "#!error") {
    return {Status::kMalformed,
            {name + ":1:1: found a broken '#!error' line, expected '#!error LINE:COLUMN TEXT'"}};
  }
  Result<Protocol> protocol = ParseProtocol(text, name);
  if (!protocol) return JudgeRefusal(protocol.error(), name, expected);
  if (expected) {
    return {Status::kFailed,
            {fmt::format("{}:{}:{}: expected a refusal with '{}', but the file is accepted", name,
                         expected->line, expected->column, expected->text)}};
  }
  LitmusOutcome outcome;
  for (const std::string& message : Match(*protocol, Check(Lower(*protocol))))
    outcome.messages.push_back(name + ": " + message);
  if (!outcome.messages.empty()) outcome.status = Status::kFailed;
  return outcome;
}

LitmusOutcome RunPipeFile(const std::string& path) {
  Result<std::string> text = ReadText(path);
  if (!text) return {Status::kMalformed, {text.error().Text()}};
  return RunPipeText(*text, path);
}

}  // namespace ss::pipeline
