// What must survive when old blocks go: the records that later ones refer to. Without the
// allocation of a live block its later uses could not be told from foreign addresses; without its
// text a name is a number.
//
// Fed with the records of evicted blocks, it keeps names, and creations without their destruction.
// Its size follows the live state and the number of names, not the length of the run. It knows
// pairs of records, not what they mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/trace/decode.h"

namespace ss::trace {

class CarriedState {
 public:
  void BeginBatch() { destroyed_.clear(); }
  void Apply(uint32_t thread, const RawRecord& raw);

  struct Kept {
    uint32_t thread;
    uint64_t seq;
    std::string wire;
  };
  // By thread, then seq.
  std::vector<Kept> Records() const;

 private:
  // What a record is about: a group of records, and the fields that tell two of them apart.
  using Key = std::tuple<uint32_t, uint64_t, uint64_t>;

  void Keep(const Key& key, uint32_t thread, const RawRecord& raw);
  void Forget(const Key& key, uint64_t seq);
  void AddCount(uint32_t thread, const RawRecord& raw);

  std::map<Key, Kept> kept_;
  std::map<Key, uint64_t> destroyed_;  // in this batch: threads' blocks are not in one order
};

}  // namespace ss::trace
