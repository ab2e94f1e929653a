// A protocol as Promela, for SPIN: a third opinion on who may hang, of a program that shares
// nothing with ours but this translation.
#pragma once

#include <string>

#include "src/pipeline/steps.h"

namespace ss::pipeline {

// Agents are processes, barriers integers; waits see parities. An invalid end state is a hang.
std::string Promela(const Program& program);

}  // namespace ss::pipeline
