#include "src/program/shape.h"

#include <limits>

namespace ss {
namespace {
constexpr uint64_t kMaxSpan = uint64_t{1} << 48;  // the user's address space
}

uint64_t Shape::Span(size_t inside) const {
  uint64_t span = row;
  for (size_t i = 0; i < inside; ++i) span += levels[i].pitch * (levels[i].count - 1);
  return span;
}

uint64_t Shape::Bytes() const {
  uint64_t bytes = row;
  for (const Level& level : levels) bytes *= level.count;
  return bytes;
}

std::optional<Shape> Repeated(Shape shape, uint64_t pitch, uint64_t count) {
  if (count == 1) return shape;
  const uint64_t span = shape.Span();
  if (count == 0 || pitch == 0 || span > kMaxSpan || pitch > kMaxSpan) return std::nullopt;
  if (count - 1 > (kMaxSpan - span) / pitch) return std::nullopt;
  if (shape.levels.empty() && pitch <= shape.row) {
    shape.row += pitch * (count - 1);
    return shape;
  }
  if (!shape.levels.empty()) {
    Shape::Level& last = shape.levels.back();
    if (pitch == last.pitch * last.count) {
      last.count *= count;
      return shape;
    }
  }
  if (pitch < span) return std::nullopt;
  shape.levels.push_back({pitch, count});
  return shape;
}

std::optional<ShapeId> ShapeTable::Intern(const Shape& shape) {
  if (shape.levels.empty()) return ShapeId{0};
  auto known = ids_.find(shape);
  if (known != ids_.end()) return known->second;
  if (shapes_.size() == std::numeric_limits<ShapeId>::max()) return std::nullopt;
  shapes_.push_back(shape);
  const auto id = static_cast<ShapeId>(shapes_.size());
  ids_.emplace(shape, id);
  return id;
}

}  // namespace ss
