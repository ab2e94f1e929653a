// What a 32-bit register may hold, as far as pointers go: one tag is one origin, packed into 64
// bits. A register holds a set of tags (tag_set.h), because of joins (either) and additions (sum of
// both).
#pragma once

#include <cstdint>

namespace ss::kernels {

enum class TagKind : uint8_t {
  kConst,           // value: the number itself
  kNumber,          // value + multiple * unknown
  kWide,            // as kNumber after widening; absorbs all numbers; value < multiple
  kParam,           // value: byte offset of a 4-byte parameter word
  kParamTable,      // a parameter word at value + multiple * unknown
  kParamAddress,    // address of the parameter block + value (low half)
  kParamAddressAt,  // the same + multiple * unknown
  kParamAddressAny,
  kParamAddressHigh,
  kStack,     // value: offset from the stack pointer at entry
  kStackAt,   // the same + multiple * unknown, not below
  kStackAny,  // somewhere in local memory
  kLocalWindow,
  kSharedWindow,
  kLoaded,         // loaded from memory that `base` leads to; half: which word of 8 bytes
  kSymbol,         // value: index of a module symbol; half: low or high word
  kConstantWord,   // value: offset in the module's own constants (c[3])
  kConstantTable,  // the same at an unknown index
  kDriver,         // value: offset in c[0] outside the parameters: what the driver passes
  kHeap,           // result of device malloc
  kMixed,          // one of several words of local or shared memory, which one is not known
  kDifference,     // one pointer's word minus another's went into this
};

// kind 8 | base 8 | multiple 14 | deep or moved 1 | half 1 | value 32
class Tag {
 public:
  static constexpr uint32_t kMaxMultiple = (1u << 14) - 1;

  Tag() = default;
  Tag(TagKind kind, uint32_t value, uint32_t multiple = 0)
      : bits_(uint64_t(kind) << 56 | uint64_t(multiple & kMaxMultiple) << 34 | value) {}

  // Word `half` of 8 bytes read from where `base` leads; deep: through more than one load.
  static Tag Loaded(Tag base, bool deep, uint32_t half) {
    Tag tag(TagKind::kLoaded, base.value(), base.multiple());
    tag.bits_ |= uint64_t(base.kind()) << 48 | uint64_t(deep) << 33 | uint64_t(half & 1) << 32;
    return tag;
  }
  static Tag Halved(TagKind kind, uint32_t value, uint32_t half) {
    Tag tag(kind, value);
    tag.bits_ |= uint64_t(half & 1) << 32;
    return tag;
  }

  TagKind kind() const { return TagKind(bits_ >> 56); }
  TagKind base_kind() const { return TagKind(bits_ >> 48 & 0xff); }
  uint32_t multiple() const { return bits_ >> 34 & kMaxMultiple; }
  bool deep() const { return bits_ >> 33 & 1; }
  uint32_t half() const { return bits_ >> 32 & 1; }
  uint32_t value() const { return static_cast<uint32_t>(bits_); }
  int32_t offset() const { return static_cast<int32_t>(value()); }
  // kParam: something was added to the word, so that it is no longer known where in the block it
  // is.
  bool moved() const { return kind() == TagKind::kParam && deep(); }
  Tag Moved() const {
    Tag tag = *this;
    if (kind() == TagKind::kParam) tag.bits_ |= uint64_t(1) << 33;
    return tag;
  }
  Tag Unmoved() const {
    Tag tag = *this;
    if (kind() == TagKind::kParam) tag.bits_ &= ~(uint64_t(1) << 33);
    return tag;
  }
  Tag Base() const { return Tag(base_kind(), value(), multiple()); }
  Tag OtherHalf() const {
    Tag tag = *this;
    tag.bits_ ^= uint64_t(1) << 32;
    return tag;
  }
  uint64_t bits() const { return bits_; }

  bool IsNumber() const { return kind() <= TagKind::kWide; }
  // The first byte of an 8-byte value may be rooted here.
  bool IsPointerWord() const {
    switch (kind()) {
      case TagKind::kParam:
      case TagKind::kParamTable:
      case TagKind::kLoaded:
      case TagKind::kSymbol:
      case TagKind::kConstantWord:
      case TagKind::kConstantTable:
        return true;
      default:
        return false;
    }
  }

  friend bool operator==(Tag a, Tag b) { return a.bits_ == b.bits_; }
  friend bool operator<(Tag a, Tag b) { return a.bits_ < b.bits_; }

 private:
  uint64_t bits_ = 0;
};

}  // namespace ss::kernels
