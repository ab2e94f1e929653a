#include "tests/random/program_source.h"

#include "tests/random/generator.h"
#include "tests/random/repair.h"

namespace ss::random {

Lines ProgramOf(uint64_t seed) {
  Rng rng(seed ^ 0x5eed);
  const int kind = static_cast<int>(rng.Weighted({35, 50, 15}));
  const Size size = kind == 0 ? Size{20, 200} : Size{20, 140};  // room for what the repair adds
  Lines lines = Generator(seed, size).Lines();
  if (kind == 0) return lines;
  return Repair(std::move(lines), kind == 1 ? 12 : rng.Between(1, 2), 20, 200, &rng);
}

}  // namespace ss::random
