// Is a wait load-bearing? Answered without the engine: on the reference's explicit graph
// (tests/reference/timeline.h), as the transitive closure of its edges, for every pair of
// operations.
//
// With a wait taken out, the graph is built anew. The wait is load-bearing iff one of these was
// ordered with it and is not without it:
//  - two accesses of common bytes, not both reads nor both atomic (rule 2); of one tenancy where
//    the memory comes from a pool (rule 17) or a caching allocator;
//  - a use and the free of what it uses, or a stream-ordered allocation and a use (rules 16, 17,
//    19). For a free, what any host thread saw complete before it counts as ordered.
//
// Incidental edges (rules 9 and 16) count as order, since the engine makes advice of them and no
// hazard. A program that has hazards with every wait in place is judged the same; the engine goes
// on after a hazard as if its edge were there, so that the two may differ on it.
//
// How a block of a caching allocator goes from one tenancy to the next has rules of its own (18,
// 19) and is left out: `unjudged_frees`. So is record_stream, which means nothing else, and the
// free of any block that was told of a stream (PyTorch's pinned ones are).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/program/op.h"
#include "tests/reference/timeline.h"

namespace ss {

class Oracle {
 public:
  explicit Oracle(const Program& program);

  // `removed`: positions of the operations that are taken out together.
  bool LoadBearing(const std::vector<size_t>& removed);
  size_t questions() const { return questions_.size(); }
  size_t unjudged_frees() const { return unjudged_frees_; }

 private:
  enum class What : uint8_t { kPair, kStagedPair, kFree };
  struct Question {
    uint32_t first = 0, second = 0;  // positions of operations; is first over before second starts?
    What what{};
  };

  void Ask(const reference::Timeline& timeline);
  void AskPairs(const reference::Timeline& timeline, size_t second);
  void AskTenancies(const reference::Timeline& timeline);
  std::vector<bool> Answers() const;

  const Program& program_;
  std::vector<Op> ops_;            // of the program; copies that read their source apart in two
  std::vector<size_t> positions_;  // by position in the program: that in `ops_`
  std::vector<Question> questions_;
  std::vector<bool> ordered_;  // with every wait in place
  size_t unjudged_frees_ = 0;
};

}  // namespace ss
