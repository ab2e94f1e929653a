// Rows with gaps between them: which bytes of its range an access touches, where not all of them
// (copies and memsets in two and three dimensions). Kept beside the accesses, once for each form,
// because a program has few forms and many accesses. Rejected: an access for each row; a frame has
// a thousand.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace ss {

using ShapeId = uint16_t;  // in a ShapeTable; 0 = all bytes of the range

struct Shape {
  // `count` times what the level inside it touches, each `pitch` bytes behind the one before.
  struct Level {
    uint64_t pitch = 0;  // bytes; more than the span of what is inside: there are gaps
    uint64_t count = 0;  // 2 or more
    auto operator<=>(const Level&) const = default;
  };
  uint64_t row = 0;           // bytes without a gap; not 0
  std::vector<Level> levels;  // the innermost first; none: a range without gaps

  // Bytes from the first one to behind the last one; `inside`: of the first so many levels.
  uint64_t Span(size_t inside) const;
  uint64_t Span() const { return Span(levels.size()); }
  uint64_t Bytes() const;  // that are touched
  auto operator<=>(const Shape&) const = default;
};

// `count` of `shape`, `pitch` bytes apart, in the fewest levels. Nothing where they lie in one
// another, or the numbers are too large to mean anything.
std::optional<Shape> Repeated(Shape shape, uint64_t pitch, uint64_t count);

class ShapeTable {
 public:
  // The shape's number; 0 for one without gaps. Nothing when there are as many as numbers.
  std::optional<ShapeId> Intern(const Shape& shape);
  // Of a number that Intern gave, not 0. Stays where it is.
  const Shape& Get(ShapeId id) const { return shapes_[id - 1]; }

 private:
  std::deque<Shape> shapes_;
  std::map<Shape, ShapeId> ids_;
};

}  // namespace ss
