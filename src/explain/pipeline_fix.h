// Changes of a protocol that make a finding go away: operations of a role on a pipeline that it
// does not own are left out, and the rest is judged again for every schedule.
#pragma once

#include <string>
#include <vector>

#include "src/pipeline/check.h"

namespace ss {

struct PipelineFix {
  std::string text;   // "delete tail o_store from role CG0 (line 5)"
  uint64_t gone = 0;  // further findings that it also removes
};

// Verified ones only: the finding is gone, and nothing new came.
std::vector<PipelineFix> PipelineFixes(const pipeline::Program& program,
                                       const pipeline::Verdict& verdict,
                                       const pipeline::Finding& finding,
                                       const pipeline::CheckOptions& options);

}  // namespace ss
