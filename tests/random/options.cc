#include "tests/random/options.h"

#include <cstdlib>
#include <cstring>
#include <iostream>

namespace ss::random {
namespace {

[[noreturn]] void Usage() {
  std::cerr << "usage: reference_check [PROGRAMS] [--seed S] [--dump DIR] [--stop-after N]\n"
               "                       [--expect-flip | --every-rule] [--no-advice] [--list] "
               "[--print] [--file F.litmus] [--litmus DIR]\n";
  std::exit(2);
}

uint64_t Number(const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != 0) Usage();
  return value;
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    auto value = [&] { return ++i < argc ? argv[i] : (Usage(), ""); };
    if (word == "--seed") {
      options.seed = Number(value());
    } else if (word == "--dump") {
      options.dump = value();
    } else if (word == "--stop-after") {
      options.stop_after = Number(value());
    } else if (word == "--expect-flip") {
      options.expect_flip = true;
    } else if (word == "--no-advice") {
      options.advice = false;
    } else if (word == "--every-rule") {
      options.every_rule = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--print") {
      options.print = true;
    } else if (word == "--litmus") {
      options.litmus = value();
    } else if (word == "--file") {
      options.file = value();
    } else {
      options.programs = Number(word.c_str());
    }
  }
  return options;
}

}  // namespace ss::random
