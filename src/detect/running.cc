#include "src/detect/running.h"

#include <algorithm>

namespace ss {

std::vector<size_t> Running::Unseen(Order& order) const {
  std::vector<size_t> unseen;
  for (size_t lane = 0; lane < last_.size(); ++lane) {
    const Last& last = last_[lane];
    if (last.epoch == 0) continue;
    bool seen = false;
    for (size_t host = 0; host < order.host_count() && !seen; ++host) {
      seen =
          order.LookAtFree(static_cast<HostId>(host)).Knows(static_cast<LaneId>(lane), last.epoch);
    }
    if (!seen) unseen.push_back(last.index);
  }
  std::sort(unseen.begin(), unseen.end());
  return unseen;
}

}  // namespace ss
