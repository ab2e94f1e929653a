// Which picture of a report a finding is in.
#pragma once

#include "src/program/finding.h"
#include "src/program/picture.h"

namespace ss {

inline bool IsDrawnOn(const Finding& finding, const Picture& picture) {
  return finding.source == picture.source &&
         (picture.rank < 0 || picture.rank == int64_t{finding.second.rank});
}

}  // namespace ss
