// Every protocol that lacks one operation of the file (all turns of it, where it stands in a loop).
#pragma once

#include <string>
#include <vector>

#include "src/pipeline/protocol.h"

namespace ss::pipeline {

struct Mutant {
  std::string name;  // "B without wait p (line 3)"
  Protocol protocol;
};

std::vector<Mutant> Mutants(const Protocol& protocol);

}  // namespace ss::pipeline
