// What a process shares with others (rule 8): the plain data by which several are joined.
#pragma once

#include <cstdint>
#include <string>

namespace ss {

struct SharedThing {
  bool event = false;   // else memory
  bool opened = false;  // another process gave it away; else this one does
  uint32_t id = 0;      // BufferId or EventId of this process
  std::string handle;   // the same in all processes
  uint64_t ns = 0;      // when, on the machine's clock; 0 = not known
  uint64_t waits = 0;   // of this process for the event, before it recorded it itself
};

}  // namespace ss
