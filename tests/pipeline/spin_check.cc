// spin_check SPIN CC WORK_DIR FILE...: SPIN finds an invalid end state in a protocol's Promela
// exactly where the checker says that somebody may hang. Exit 77 (skipped) without SPIN.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/pipeline/check.h"
#include "tests/pipeline/promela.h"

namespace ss::pipeline {
namespace {

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return text;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  pclose(pipe);
  return text;
}

// "errors: N" of the verifier; -1 = it did not get to the end.
int Errors(const std::string& spin, const std::string& cc, const std::string& folder,
           const std::string& promela) {
  std::ofstream(folder + "/model.pml") << promela;
  const std::string text =
      Output(fmt::format("cd '{}' && {} -a model.pml > spin.log 2>&1 && {} -O1 -w -DSAFETY "
                         "-DNOFAIR -o pan pan.c && ./pan -m1000000 2>&1",
                         folder, spin, cc));
  const size_t at = text.find("errors: ");
  if (at == text.npos || text.find("max search depth too small") != text.npos) return -1;
  return std::atoi(text.c_str() + at + 8);
}

int Main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: spin_check SPIN CC WORK_DIR FILE...\n");
    return 2;
  }
  const std::string spin = argv[1], cc = argv[2], folder = argv[3];
  if (std::system(fmt::format("command -v '{}' > /dev/null 2>&1", spin).c_str()) != 0) {
    fmt::print("skipped: no spin (Debian package `spin`)\n");
    return 77;
  }
  int failed = 0, hang = 0;
  for (int i = 4; i < argc; ++i) {
    std::stringstream text;
    text << std::ifstream(argv[i]).rdbuf();
    Result<Protocol> protocol = ParseProtocol(text.str(), argv[i]);
    if (!protocol) {
      fmt::print("{}\n", protocol.error().Text());
      return 2;
    }
    const Program program = Lower(*protocol);
    const bool hangs = !Check(program).stuck.empty();
    const int errors = Errors(spin, cc, folder, Promela(program));
    hang += hangs;
    if (errors < 0 || hangs != (errors > 0)) {
      fmt::print("{}: the checker says {}, SPIN {} errors\n", argv[i],
                 hangs ? "it may hang" : "it never hangs", errors);
      ++failed;
    }
  }
  fmt::print("{} protocols, {} may hang, {} differ from SPIN\n", argc - 4, hang, failed);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace ss::pipeline

int main(int argc, char** argv) { return ss::pipeline::Main(argc, argv); }
