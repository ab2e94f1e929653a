// Waits by the place in the program that makes them: what a person edits. Each place is taken out
// as a whole, then as many places at once as the program can do without.
#pragma once

#include "src/explain/critical_path.h"
#include "src/explain/settle.h"

namespace ss {

// Fills `places`, `minimal` and `minimal_whole`; each Wait's `place`, and its verdict where that of
// the place settles it.
void AblatePlaces(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
                  const HazardCounts& before, Ablation* ablation);

}  // namespace ss
