// What happened around a finding: the operations that a picture of it shows.
#pragma once

#include <string>
#include <unordered_map>

#include "src/explain/replay.h"
#include "src/program/contexts.h"
#include "src/program/finding.h"

namespace ss {

// What a tape's streams and host threads are called in the end.
class LaneNames {
 public:
  explicit LaneNames(const Tape& tape);
  std::string Stream(StreamId stream) const;
  std::string Host(HostId host) const;
  uint32_t Rank(HostId host) const;
  bool several_ranks() const { return several_ranks_; }
  // As the finding's own operations name it, where it is one of theirs.
  std::string StreamIn(const Finding& finding, StreamId stream) const;
  const ContextMap& contexts() const { return contexts_; }

 private:
  std::unordered_map<StreamId, std::string> streams_;
  ContextMap contexts_;
  std::unordered_map<HostId, std::string> hosts_;
  std::unordered_map<HostId, uint32_t> ranks_;
  bool several_ranks_ = false;
};

// Among several ranks every lane of a finding is named with its rank.
void NameRanks(Finding* finding, const LaneNames& names);
// Fills `producer` and `timeline`.
void FillWindow(Finding* finding, const Tape& tape, const LaneNames& names);

}  // namespace ss
