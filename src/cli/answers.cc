#include "src/cli/answers.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "src/report/print.h"

namespace ss {

Result<AnswerFolder> AnswerFolder::Make() {
  const char* temporary = std::getenv("TMPDIR");
  std::string path = temporary && *temporary ? temporary : "/tmp";
  path += "/streamsan-answers-XXXXXX";
  if (mkdtemp(path.data())) return AnswerFolder(path);
  return Fail(path, std::strerror(errno), "set TMPDIR to a folder that can be written");
}

AnswerFolder::~AnswerFolder() {
  std::error_code ignored;  // left behind, at worst
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void Answers::Answer(const ProcessAnalysis& analysis, uint64_t token) {
  if (folder_.empty()) return;
  if (json_.empty() || analysis.hazards() != hazards_) {
    hazards_ = analysis.hazards();
    Report report = analysis.SoFar();
    Symboliser symbols;
    AddTo(symbols, analysis.Stacks());
    Selection selection = Select(report, {}, symbols);
    PrintInput input{report, selection, symbols};
    json_ = PrintJson(input);
    text_ = PrintText(input, {});
  }
  std::string name = fmt::format("{}/{:x}", folder_, token);
  Write(name + ".op", std::to_string(analysis.last_op()));
  Write(name + ".txt", text_);
  Write(name + ".json", json_);
}

// Whoever waits for the file must not see half of it. An answer that cannot be written is not
// given: the program's wait ends by its own time-out.
void Answers::Write(const std::string& name, const std::string& text) const {
  std::string partial = name + ".part";
  FILE* file = std::fopen(partial.c_str(), "wbe");
  if (!file) return;
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  good = std::fclose(file) == 0 && good;
  if (good) std::rename(partial.c_str(), name.c_str());
}

}  // namespace ss
