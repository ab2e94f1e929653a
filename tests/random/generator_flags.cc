// Values in memory that streams write and wait for (rule 11).
#include "tests/random/generator.h"

namespace ss::random {

std::string Generator::Flag() {
  return "F" + std::to_string(rng_.Between(1, 2)) + " " + std::to_string(rng_.Between(1, 3));
}

void Generator::Signal() {
  EmitOn(AnyStream(), "signal " + Flag() + (rng_.Percent(15) ? " no_barrier" : ""));
}

void Generator::Await() { EmitOn(AnyStream(), "await " + Flag()); }

// As programs mean it: the wait may be queued first.
void Generator::SignalAwait() {
  const size_t from = AnyStream(), to = OtherStream(from);
  const std::string flag = Flag();
  const bool early = rng_.Percent(40);
  if (early) EmitOn(to, "await " + flag);
  if (early && rng_.Percent(30)) {  // what the wait does not hold up
    const std::string words = CopyWords();
    if (!words.empty()) EmitOn(to, "copy " + words + " source any_time");
  }
  if (rng_.Percent(50)) Kernel();
  EmitOn(from, "signal " + flag);
  if (!early) EmitOn(to, "await " + flag);
}

}  // namespace ss::random
