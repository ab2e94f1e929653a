// The watched program as a child process: started, signalled, waited for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace ss {

struct Launch {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // set over the inherited one
};

// Errors: the program cannot be executed (and why).
Result<pid_t> StartProgram(const Launch& launch);

// Blocks until it ends; 128 + signal where a signal ended it. Meanwhile the signals that ask for an
// end go to the program and not to this process, so that the report is still written; the second
// SIGINT or SIGTERM kills a program that does not obey the first.
int WaitForProgram(pid_t pid);

// While it lives, a first SIGINT or SIGTERM ends nothing: it is only known of. A second one does.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool asked() const;

 private:
  std::array<struct sigaction, 2> before_{};
};

}  // namespace ss
