// Runs a program under the capture library on the virtual GPU and gives back what was recorded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/trace/record.h"

namespace ss::test {

struct Ended {
  uint64_t dropped = 0;
  uint64_t late = 0;
  uint64_t malformed = 0;
};

struct Watched {
  int status = 0;  // as waitpid gives it
  std::string output;
  std::string errors;
  std::vector<trace::Record> records;  // of all processes, each in order
  std::vector<Ended> ended;            // one a process

  template <class T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const trace::Record& record : records) {
      if (auto* body = std::get_if<T>(&record.body)) found.push_back(*body);
    }
    return found;
  }
  std::string Text(uint64_t id) const;
  // The last Counters record, by name.
  std::map<std::string, uint64_t> Counters() const;
  // All Unmodelled records, summed by name.
  std::map<std::string, uint64_t> Unmodelled() const;
  // "name value" lines that the program printed.
  std::map<std::string, uint64_t> Printed() const;
};

struct RunOptions {
  std::vector<std::string> environment;  // NAME=value
  std::string preload_before;            // goes in front of the capture library
  std::string preload_after;
  bool with_socket = true;
};

std::string Program(const std::string& name);  // path in the build folder
std::string Library(const std::string& name);  // lib<name>.so in the build folder
Watched Run(const std::vector<std::string>& command, const RunOptions& options = {});

struct Child {
  int pid = -1;
  int out = -1;
  int err = -1;
};
// The same environment, and the caller looks after the child.
Child Spawn(const std::vector<std::string>& command, const RunOptions& options,
            const std::string& socket);
std::string ReadAll(int fd);

}  // namespace ss::test
