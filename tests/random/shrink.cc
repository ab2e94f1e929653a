#include "tests/random/shrink.h"

#include <algorithm>

namespace ss::random {
namespace {

bool DropRuns(Lines* lines, size_t run, const std::function<bool(const Lines&)>& shows) {
  bool dropped = false;
  for (size_t at = 0; at < lines->size();) {
    Lines fewer = *lines;
    const size_t end = std::min(at + run, fewer.size());
    fewer.erase(fewer.begin() + at, fewer.begin() + end);
    if (shows(fewer)) {
      *lines = std::move(fewer);
      dropped = true;
    } else {
      at += run;
    }
  }
  return dropped;
}

}  // namespace

Lines Shrink(Lines lines, const std::function<bool(const Lines&)>& shows) {
  for (size_t run = std::max<size_t>(1, lines.size() / 2); run > 1; run /= 2) {
    DropRuns(&lines, run, shows);
  }
  while (DropRuns(&lines, 1, shows)) {
  }
  return lines;
}

}  // namespace ss::random
