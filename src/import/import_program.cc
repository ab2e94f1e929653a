// A whole trace as one Program in memory.
#include <utility>

#include "src/import/importer.h"

namespace ss {
namespace {

class ProgramSink : public ImportSink {
 public:
  explicit ProgramSink(Program& program) : program_(program) {}

  void OnOp(const Op& op, std::span<const Access> accesses) override {
    program_.ops.push_back(op);
    program_.ops.back().access_begin = static_cast<uint32_t>(program_.accesses.size());
    program_.accesses.insert(program_.accesses.end(), accesses.begin(), accesses.end());
  }

 private:
  Program& program_;
};

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Result<ImportedProgram> ImportProgram(const NextRecord& next, ImportOptions options) {
  ImportedProgram out;
  ProgramSink sink(out.program);
  Importer importer(out.program, options);
  trace::Record record;
  for (;;) {
    Result<bool> more = next(record);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    importer.Feed(record, sink);
  }
  importer.Finish(sink);
  out.program.recorded = true;
  out.process = importer.process();
  out.program.title = Join(out.process.command);
  out.coverage = importer.coverage();
  return out;
}

}  // namespace ss
