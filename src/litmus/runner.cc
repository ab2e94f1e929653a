#include "src/litmus/runner.h"

#include <fmt/format.h>

#include "src/base/file.h"

namespace ss {
namespace {

using Status = LitmusOutcome::Status;

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string Place(const std::string& name, const ExpectedError& expected) {
  return fmt::format("{}:{}:{}", name, expected.line, expected.column);
}

LitmusOutcome JudgeRefusal(const std::string& name, const Error& error,
                           const std::optional<ExpectedError>& expected) {
  if (!expected) return {Status::kMalformed, {error.Text()}};
  std::string text = error.Text();
  if (error.place == Place(name, *expected) && text.find(expected->text) != std::string::npos)
    return {};
  return {Status::kMalformed,
          {text, fmt::format("{}: expected a refusal with '{}'", Place(name, *expected),
                             expected->text)}};
}

std::string Unmodelled(const LitmusFile& file, const LitmusOptions& options) {
  std::string text;
  for (const LitmusFile::Need& need : file.needs) {
    if (options.rules.count(need.rule)) continue;
    text += fmt::format("{}rule {} ({})", text.empty() ? "" : ", ", need.rule, need.what);
  }
  return text;
}

LitmusOutcome Judge(const LitmusFile& file, const std::string& name,
                    const AnalyseFunction& analyse) {
  LitmusOutcome outcome;
  for (const std::string& message : MatchExpectations(file.expectations, analyse(file.program))) {
    outcome.messages.push_back(fmt::format("{}: {}", name, message));
  }
  if (!outcome.messages.empty()) outcome.status = Status::kFailed;
  return outcome;
}

}  // namespace

LitmusOutcome RunLitmusText(std::string_view text, const std::string& name,
                            const AnalyseFunction& analyse, const LitmusOptions& options) {
  auto expected = ParseExpectedError(text);
  if (!expected && text.substr(0, 7) == "#!error") {
    return {Status::kMalformed,
            {name + ":1:1: found a broken '#!error' line, expected '#!error LINE:COLUMN TEXT'"}};
  }
  Result<LitmusFile> file = ParseLitmus(text, name);
  if (!file) return JudgeRefusal(name, file.error(), expected);
  if (expected) {
    return {Status::kFailed,
            {fmt::format("{}: expected a refusal with '{}', but the file is accepted",
                         Place(name, *expected), expected->text)}};
  }
  if (std::string rules = Unmodelled(*file, options); !rules.empty()) {
    return {Status::kSkipped, {fmt::format("{}: needs {}, not modelled yet", name, rules)}};
  }
  if (!file->program.strict_stated) file->program.strict = options.strict;
  return Judge(*file, name, analyse);
}

LitmusOutcome RunLitmusFile(const std::string& path, const AnalyseFunction& analyse,
                            const LitmusOptions& options) {
  if (EndsWith(path, ".pipe"))
    return {Status::kSkipped, {path + ": a pipeline; not judged by this runner"}};
  Result<std::string> text = ReadText(path);
  if (!text) return {Status::kMalformed, {text.error().Text()}};
  return RunLitmusText(*text, path, analyse, options);
}

}  // namespace ss
