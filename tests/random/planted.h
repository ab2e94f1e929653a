// Mutation test of the engine: each rule of src/model/rules.h is switched off in turn.
#pragma once

#include <functional>

#include "tests/random/options.h"

namespace ss::random {

// Runs `check` and the files of `options.litmus` once with all rules on (engine and reference must
// agree, no file fail) and once for each rule without it (a file must fail, and a program differ
// where random programs have what the rule is about), each in a process of its own: the engine
// reads the switch once. 0 = every bug was seen, 1 = not, 77 = this build cannot plant bugs.
int CheckEveryRule(Options options, const std::function<int(const Options&)>& check);

}  // namespace ss::random
