// A finding's schedule as rows for a printer: one lane an agent, one row a step, and what each step
// did to its barrier. Only what concerns the finding is kept; what was left out is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/pipeline/check.h"

namespace ss::pipeline {

struct PictureRow {
  uint64_t number = 0;  // of the step in the whole schedule, from 1; 0 = what stands at its end
  uint32_t lane = 0;
  std::string text;  // "commit o_store", "waits in tail o_store"
  std::string note;  // "full[0]: phase 2 complete"
  uint32_t line = 0;
};

// The arrival that completed a phase, and a wait that passed because of it: rows.
struct PictureEdge {
  size_t arrival = 0, wait = 0;
};

struct Picture {
  std::vector<std::string> lanes;  // roles, with the warp where there are several
  std::vector<PictureRow> rows;
  std::vector<PictureEdge> edges;
  uint64_t steps = 0;      // of the whole schedule
  uint64_t earlier = 0;    // steps on the same barriers before the first row
  std::string connection;  // "CG1 --full--> EPI, EPI --empty--> CG1, 1 stage"; "" = no pipeline
};

constexpr size_t kMaxPictureRows = 16;

Picture MakePicture(const Program& program, const Finding& finding,
                    size_t max_rows = kMaxPictureRows);

}  // namespace ss::pipeline
