// record PROTOCOL.pipe SEED [--late PIPELINE]... [--hidden PIPELINE]... [--early ROLE]...
//        [--late-looks]
// One block's recording of one schedule of the protocol, on stdout (recorder.h). It stands in for
// one of a GPU: tests/pipeline/recordings and the fuzzer's seeds are made with it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "src/pipeline/parser.h"
#include "src/pipeline/steps.h"
#include "tests/pipeline/recorder.h"

int main(int argc, char** argv) {
  using namespace ss::pipeline;
  if (argc < 3) return std::fputs("usage: record PROTOCOL.pipe SEED [OPTION]...\n", stderr), 2;
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  const ss::Result<Protocol> protocol = ParseProtocol(text.str(), argv[1]);
  if (!protocol) return std::fprintf(stderr, "%s\n", protocol.error().Text().c_str()), 2;
  RecorderOptions options{std::strtoull(argv[2], nullptr, 10), 1};
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--late-looks") {
      options.late_looks = true;
    } else if (word == "--late" && i + 1 < argc) {
      options.later.insert(argv[++i]);
    } else if (word == "--hidden" && i + 1 < argc) {
      options.hidden.insert(argv[++i]);
    } else if (word == "--early" && i + 1 < argc) {
      options.early.insert(argv[++i]);
    } else {
      return std::fprintf(stderr, "record: %s: not understood\n", argv[i]), 2;
    }
  }
  const RecordedRun run = RecordRun(Lower(*protocol), options);
  std::fwrite(run.log.data(), 1, run.log.size(), stdout);
  std::fprintf(stderr, "%s\n", run.stuck ? "hangs" : "completes");
  return 0;
}
