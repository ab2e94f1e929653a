// Interned sets of tags and the operations on them, all memoised: in a fixpoint the same few pairs
// of sets meet again and again. A pool serves one kernel; Clear() keeps its memory for the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/kernels/tag.h"

namespace ss::kernels {

using SetId = uint32_t;
constexpr SetId kNothing = 0;  // no value yet (unreached)
constexpr SetId kUnknown = 1;  // some number
constexpr SetId kZeroSet = 2;  // the number 0

// Open addressing from two 32-bit keys to a 32-bit value; 0xffffffff is "absent".
class PairMap {
 public:
  PairMap() { Clear(); }
  void Clear();
  uint32_t Find(uint32_t a, uint32_t b) const;
  void Insert(uint32_t a, uint32_t b, uint32_t value);

 private:
  struct Slot {
    uint64_t key;
    uint32_t value;
  };
  void Grow();

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

class TagPool {
 public:
  TagPool() { Clear(); }

  void Clear();
  std::span<const Tag> Tags(SetId set) const {
    return {tags_.data() + sets_[set].first, sets_[set].count};
  }
  SetId Intern(std::vector<Tag>& tags);  // sorts and normalises `tags` in place
  SetId Of(Tag tag);
  SetId Const(uint32_t value) { return Of(Tag(TagKind::kConst, value)); }

  SetId Join(SetId a, SetId b);  // either
  SetId Add(SetId a, SetId b);   // the sum, coefficient 1 each
  SetId Negate(SetId a);         // pointers become numbers: a negated pointer is an offset
  SetId Multiple(SetId a, uint32_t factor);  // a * factor, numbers only
  SetId PointersOnly(SetId a);
  SetId NumberOf(SetId a);  // an unknown number made of `a`; marks of differences stay
  bool HasPointer(SetId set) const { return sets_[set].pointers; }
  bool HasMark(SetId set) const { return sets_[set].marks; }
  SetId MarksOf(SetId a);  // the marks of differences alone
  bool AsConst(SetId set, uint32_t* value) const;

  // The two went into one value, by whatever means.
  void NoteSum(SetId a, SetId b) { NoteSums(Tags(a), Tags(b)); }
  // Were the two ever added to each other (as opposed to: one or the other)?
  bool WereAdded(Tag a, Tag b) const;

 private:
  struct Set {
    uint32_t first;
    uint16_t count;
    bool pointers;
    bool marks;
  };

  void Normalise(std::vector<Tag>& tags);
  void AddTo(std::span<const Tag> left, std::span<const Tag> right, std::vector<Tag>& out);
  void NoteSums(std::span<const Tag> left, std::span<const Tag> right);
  void Rehash();

  std::vector<Set> sets_;
  std::vector<Tag> tags_;
  std::vector<uint32_t> index_;  // hash -> set id + 1
  PairMap joins_, sums_, negations_, multiples_;
  std::vector<std::pair<Tag, Tag>> added_;
  std::vector<Tag> scratch_;
};

}  // namespace ss::kernels
