// Graphs: captured on one stream or two, launched anywhere (rule 14).
#include <utility>

#include "tests/random/generator.h"

namespace ss::random {

// A statement inside names only streams that capture, and nothing that a capture forbids. Blocks
// that are allocated inside are nobody's outside.
void Generator::CaptureGraph() {
  const size_t origin = AnyStream();
  if (streams_[origin].type == "legacy" || streams_[origin].type == "per-thread") return;
  const size_t branch = OtherStream(origin);
  const std::string graph = NewName("g"), own = streams_[origin].name;
  const bool can_branch = streams_[branch].type != "legacy" &&
                          streams_[branch].type != "per-thread" && branch != origin;
  bool joined = false;
  std::string block, freed;
  Emit("capture " + graph + " on " + own);
  for (int i = rng_.Between(2, 7); i > 0; --i) {
    switch (rng_.Weighted({10, can_branch ? 4 : 0, joined ? 6 : 0, joined ? 2 : 0, 2, 2})) {
      case 0:
        CapturedWork(origin);
        break;
      case 1:
        Emit(streams_[branch].name + ": wait_stream " + own);
        joined = true;
        break;
      case 2:
        CapturedWork(branch);
        break;
      case 3:
        Emit(own + ": wait_stream " + streams_[branch].name);
        break;
      case 4:
        if (!block.empty()) break;
        block = NewName("B");
        Emit("alloc " + block + " 8K on " + own + (freed.empty() ? "" : " reuse " + freed));
        freed.clear();
        Emit(own + ": kernel " + NewName("k") + " write " + block);
        break;
      default:
        if (block.empty()) break;
        Emit((joined && rng_.Percent(50) ? streams_[branch].name : own) + ": kernel " +
             NewName("k") + " read " + block);
        if (rng_.Percent(40)) break;
        Emit("free " + block);
        freed = std::exchange(block, "");
        break;
    }
  }
  if (joined) Emit(own + ": wait_stream " + streams_[branch].name);
  Emit("end");
  graphs_.push_back(graph);
}

void Generator::CapturedWork(size_t stream) {
  const std::string on = streams_[stream].name + ": ";
  const auto live = Live("caching device managed");
  if (!live.empty() && rng_.Percent(15)) return Emit(on + "memset_async " + Ranged(Hot(live), 20));
  Emit(on + "kernel " + NewName("k") + Accesses(3));
}

void Generator::LaunchGraph() {
  if (!graphs_.empty()) EmitOn(AnyStream(), "launch " + rng_.Pick(graphs_));
}

}  // namespace ss::random
