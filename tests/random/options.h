// Command line of reference_check.
#pragma once

#include <cstdint>
#include <string>

namespace ss::random {

struct Options {
  uint64_t programs = 10000;
  uint64_t seed = 1;
  std::string dump;          // folder for minimal programs that disagree, "" = none
  uint64_t stop_after = 10;  // disagreements shown in full
  bool expect_flip = false;  // pass iff some program disagrees (a test build with a planted bug)
  bool every_rule = false;   // plant each rule's bug in turn; pass iff each is seen
  bool advice = true;        // compare advice too
  bool list = false;         // name what differs in one line a program; nothing is shrunk
  bool print = false;        // print the program of `seed` and the reference's answer, then stop
  std::string litmus;        // --every-rule: cases for rules that random programs do not exercise
  std::string file;          // compare on this litmus file instead of on random programs
};

// Exits with a usage message on anything that it does not know.
Options ParseOptions(int argc, char** argv);

}  // namespace ss::random
