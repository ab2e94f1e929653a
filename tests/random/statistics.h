// What the random programs were like: racy or clean, and which rules they exercised.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/reference/reference.h"

namespace ss::random {

class Statistics {
 public:
  void Add(size_t statements, const reference::Verdict& verdict);
  // Prints shares; false where a promise is broken: a quarter racy, a quarter clean, 20 to 200
  // statements each, every rule in 1%, no more than 2% that hang.
  bool Print() const;

 private:
  bool PrintRules() const;

  uint64_t programs_ = 0, racy_ = 0, statements_ = 0, unsettled_ = 0;
  uint64_t shortest_ = ~uint64_t{0}, longest_ = 0;
  std::map<std::string, uint64_t> notes_;  // "4 legacy waits" -> programs
  std::map<int, uint64_t> rules_;          // 4 -> programs
};

}  // namespace ss::random
