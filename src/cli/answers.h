// What a watched program is told when it asks (streamsan_mark): the report so far, in a file.
//
// A file and not a message: the watched program waits for nobody unless it asks, and a pipe or
// socket back to it would have to be kept alive by every process of the job.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/result.h"
#include "src/cli/process_analysis.h"

namespace ss {

constexpr char kAnswersVariable[] = "STREAMSAN_ANSWERS";

// A private folder, removed with what is in it at the end.
class AnswerFolder {
 public:
  // Errors: it cannot be made.
  static Result<AnswerFolder> Make();
  AnswerFolder(AnswerFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_ = ""; }
  AnswerFolder& operator=(AnswerFolder&&) = delete;
  ~AnswerFolder();
  const std::string& path() const { return path_; }

 private:
  explicit AnswerFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The answers to one process.
class Answers {
 public:
  // `folder` may be "": then nobody is answered.
  explicit Answers(std::string folder) : folder_(std::move(folder)) {}

  // Writes FOLDER/<token>.json, .txt and .op (the last operation's number); the first appears last
  // and whole. All that came before the question has been fed to `analysis`.
  void Answer(const ProcessAnalysis& analysis, uint64_t token);

 private:
  void Write(const std::string& name, const std::string& text) const;

  std::string folder_;
  size_t hazards_ = 0;  // when the texts were made
  std::string json_, text_;
};

}  // namespace ss
