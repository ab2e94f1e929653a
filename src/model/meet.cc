#include "src/model/meet.h"

#include <algorithm>

namespace ss {
namespace {

// Rows that are looked at one by one, of one pair of accesses.
constexpr int kMaxRows = 4096;

using Signed = int64_t;

struct Window {
  Signed begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

Window Cut(Window a, Window b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// The first `depth` levels of a shape, at a place.
struct Rows {
  Signed at = 0;
  const Shape* shape = nullptr;
  size_t depth = 0;

  Signed Span() const { return static_cast<Signed>(shape->Span(depth)); }
  Window Range() const { return {at, at + Span()}; }
  Signed pitch() const { return static_cast<Signed>(shape->levels[depth - 1].pitch); }
  Signed count() const { return static_cast<Signed>(shape->levels[depth - 1].count); }
  Rows Inside(Signed i) const { return {at + i * pitch(), shape, depth - 1}; }
  // Which of the parts have the byte, or would if there were more of them; -1: before the first.
  Signed IndexAt(Signed byte) const { return byte < at ? -1 : (byte - at) / pitch(); }
};

// Those parts of `rows` that may have bytes of the window.
struct Indices {
  Signed first = 0, last = -1;
};
Indices PartsIn(const Rows& rows, Window window) {
  return {std::clamp<Signed>(rows.IndexAt(window.begin), 0, rows.count() - 1),
          std::min(rows.IndexAt(window.end - 1), rows.count() - 1)};
}

class Search {
 public:
  Meeting Find(Rows a, Rows b, Window window) {
    window = Cut(window, Cut(a.Range(), b.Range()));
    if (window.empty()) return Meeting::kApart;
    if (a.depth == 0 && b.depth == 0) return Meeting::kMeet;
    if (a.depth != 0 && b.depth != 0 && a.pitch() == b.pitch()) return InStep(a, b, window);
    if (a.depth == 0) return OneByOne(b, a, window);
    if (b.depth == 0) return OneByOne(a, b, window);
    return a.pitch() > b.pitch() ? OneByOne(a, b, window) : OneByOne(b, a, window);
  }

 private:
  // Of one pitch: part i of one lies to part i + k of the other as all i do, so that the first one
  // behind the window's begin stands for all that follow; the one at its begin is cut.
  Meeting InStep(const Rows& a, const Rows& b, Window window) {
    Meeting found = Meeting::kApart;
    const Signed behind = a.at - b.at;
    const Signed below = behind >= 0 ? behind / a.pitch() : -((-behind) / a.pitch()) - 1;
    for (Signed k : {below, below + 1}) {  // a part is no longer than the pitch
      const Signed low = std::max<Signed>(0, -k);
      const Signed high = std::min(a.count() - 1, b.count() - 1 - k);
      if (low > high) continue;
      const Indices in = PartsIn(a, window);
      for (Signed part : {in.first, in.first + 1}) {
        const Signed i = std::clamp(part, low, high);
        found = std::max(found, Find(a.Inside(i), b.Inside(i + k), window), Stronger);
        if (found == Meeting::kMeet) return found;
      }
    }
    return found;
  }

  // Where the other one has no gap, the last part has its first byte there, unless it is the only
  // one in the window.
  Meeting OneByOne(const Rows& rows, const Rows& other, Window window) {
    const Indices in = PartsIn(rows, window);
    if (other.depth == 0) return Find(rows.Inside(in.last), other, window);
    Meeting found = Meeting::kApart;
    for (Signed i = in.first; i <= in.last; ++i) {
      if (--left_ < 0) return Meeting::kUnknown;
      found = std::max(found, Find(rows.Inside(i), other, window), Stronger);
      if (found == Meeting::kMeet) return found;
    }
    return found;
  }

  static bool Stronger(Meeting a, Meeting b) { return Rank(a) < Rank(b); }
  static int Rank(Meeting meeting) {
    return meeting == Meeting::kApart ? 0 : meeting == Meeting::kUnknown ? 1 : 2;
  }

  int left_ = kMaxRows;
};

Shape Plain(const Touched& touched) { return {touched.end - touched.begin, {}}; }

Rows RowsOf(const Touched& touched, const Shape& plain) {
  const Shape* shape = touched.shape != nullptr ? touched.shape : &plain;
  return {static_cast<Signed>(touched.begin), shape, shape->levels.size()};
}

Window WindowOf(const Touched& touched) {
  return {static_cast<Signed>(touched.begin), static_cast<Signed>(touched.end)};
}

// The last row that begins at `byte` or before it: no other one can have it.
Window RowBefore(Rows rows, Signed byte) {
  while (rows.depth != 0) rows = rows.Inside(std::min(rows.IndexAt(byte), rows.count() - 1));
  return rows.Range();
}

// `left`: rows that may still be looked at.
bool AllWithin(const Rows& outer, const Rows& inner, int* left) {
  if (inner.depth == 0) {
    --*left;
    return inner.at + inner.Span() <= RowBefore(outer, inner.at).end;
  }
  for (Signed i = 0; i < inner.count(); ++i) {
    if (*left <= 0 || !AllWithin(outer, inner.Inside(i), left)) return false;
  }
  return true;
}

}  // namespace

Meeting Meet(const Touched& a, const Touched& b, uint64_t from, uint64_t until) {
  Window window{static_cast<Signed>(from), static_cast<Signed>(until)};
  window = Cut(window, Cut(WindowOf(a), WindowOf(b)));
  if (window.empty()) return Meeting::kApart;
  if (a.shape == nullptr && b.shape == nullptr) return Meeting::kMeet;
  const Shape plain_a = Plain(a), plain_b = Plain(b);
  return Search().Find(RowsOf(a, plain_a), RowsOf(b, plain_b), window);
}

bool Covers(const Touched& outer, const Touched& inner) {
  if (outer.begin > inner.begin || outer.end < inner.end) return false;
  if (outer.shape == nullptr) return true;
  if (outer.shape == inner.shape && outer.begin == inner.begin) return true;
  const Shape plain_outer = Plain(outer), plain_inner = Plain(inner);
  const Rows rows = RowsOf(inner, plain_inner);
  if (rows.shape->Bytes() / rows.shape->row > kMaxRows) return false;
  int left = kMaxRows;
  return AllWithin(RowsOf(outer, plain_outer), rows, &left);
}

}  // namespace ss
