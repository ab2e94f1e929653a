// A small seeded generator of numbers. std's distributions differ between libraries; a seed that a
// failing run prints must give the same program everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ss::random {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}

  // splitmix64
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  int Between(int low, int high) { return low + static_cast<int>(Below(high - low + 1)); }
  bool Percent(int percent) { return Below(100) < static_cast<size_t>(percent); }
  template <typename T>
  const T& Pick(const std::vector<T>& items) {
    return items[Below(items.size())];
  }
  // An index, by weight.
  size_t Weighted(const std::vector<int>& weights) {
    int total = 0;
    for (int weight : weights) total += weight;
    int at = static_cast<int>(Below(total));
    for (size_t i = 0; i < weights.size(); ++i) {
      if ((at -= weights[i]) < 0) return i;
    }
    return 0;
  }

 private:
  uint64_t state_;
};

}  // namespace ss::random
