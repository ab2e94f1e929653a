// Green contexts, and events over a whole context.
#include "tests/random/generator.h"

namespace ss::random {

// Some streams move into them.
void Generator::DeclareContexts() {
  if (profile_.contexts == 0) return;
  if (rng_.Percent(70)) contexts_.push_back({NewName("P"), false, 0});
  for (int i = rng_.Between(contexts_.empty() ? 1 : 0, 2); i > 0; --i)
    contexts_.push_back({NewName("G"), true, devices_ > 1 && rng_.Percent(30) ? 1 : 0});
  for (const Context& context : contexts_) {
    const std::string green = context.green ? " green" : "";
    Emit("context " + context.name + green + (context.device ? " device 1" : ""));
    if (!context.green) continue;
    for (Stream& stream : streams_) {
      const bool apart = stream.type.empty() || stream.type == "nonblocking";
      if (!apart || !stream.context.empty() || !rng_.Percent(50)) continue;
      stream.context = context.name;
      stream.device = context.device;
    }
    if (rng_.Percent(25))
      streams_.push_back({NewName("d"), "legacy", context.device, true, context.name});
  }
}

std::string Generator::Declaration(const Stream& stream) const {
  std::string line = "stream " + stream.name;
  if (!stream.type.empty()) line += " " + stream.type;
  if (!stream.context.empty()) return line + " context " + stream.context;
  return line + (stream.device ? " device 1" : "");
}

void Generator::ContextRecord() { EmitAnyHost(rng_.Pick(contexts_).name + ": record " + Event()); }

void Generator::ContextWait() {
  const std::string context = rng_.Pick(contexts_).name;
  const bool stream = rng_.Percent(30);
  EmitAnyHost(context + ": wait " + (stream ? streams_[AnyStream()].name : Event()));
}

void Generator::WaitForContext() {
  EmitOn(AnyStream(), "wait_stream " + rng_.Pick(contexts_).name);
}

void Generator::ContextSync() { EmitAnyHost("sync " + rng_.Pick(contexts_).name); }

// Work, everybody waits for it, more work: now and then with a step left out, or for another
// context.
void Generator::ContextBarrier() {
  const auto live = Live("caching device managed");
  if (live.empty()) return;
  const std::string name = buffers_[Hot(live)].name;
  const std::string context = rng_.Pick(contexts_).name, event = Event();
  EmitOn(AnyStream(), "kernel " + NewName("k") + " write " + name);
  if (rng_.Percent(85)) EmitAnyHost(context + ": record " + event);
  const std::string waits = rng_.Percent(80) ? context : rng_.Pick(contexts_).name;
  if (rng_.Percent(85)) EmitAnyHost(waits + ": wait " + event);
  EmitOn(AnyStream(), "kernel " + NewName("k") + " read " + name);
}

}  // namespace ss::random
