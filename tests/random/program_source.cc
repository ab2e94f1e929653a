#include "tests/random/program_source.h"

#include <algorithm>
#include <string>

#include "tests/random/generator.h"
#include "tests/random/rank_generator.h"
#include "tests/random/repair.h"

namespace ss::random {

Lines ProgramOf(uint64_t seed) {
  Rng rng(seed ^ 0x5eed);
  const int kind = static_cast<int>(rng.Weighted({35, 50, 15}));
  const Size size = kind == 0 ? Size{20, 200} : Size{20, 140};  // room for what the repair adds
  if (rng.Percent(12)) return RankGenerator(seed, size).Lines();
  Lines lines = Generator(seed, size).Lines();
  const bool graphs = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("capture ");
  });
  if (kind == 0 || graphs) return lines;  // a repair inside a graph would be one of every launch
  return Repair(std::move(lines), kind == 1 ? 12 : rng.Between(1, 2), 20, 200, &rng);
}

}  // namespace ss::random
