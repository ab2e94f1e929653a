// A synchronisation of a context, in the picture of a program and in what its waits cost.
#include <algorithm>

#include "src/explain/critical_path.h"
#include "src/explain/picture.h"
#include "tests/engine/from_litmus.h"

namespace ss {
namespace {

Program Busy(const std::string& sync) {
  return FromLitmus(
      "context P\ncontext G green\nstream a\nstream g context G\nstream far device 1\n"
      "alloc X 4K device\n"
      "a: kernel one read X\na: kernel two read X\na: kernel three read X\n"
      "g: kernel four read X\nfar: kernel five read X\n" +
      sync + "\ng: kernel six read X\n");
}

Tape TapeOf(const Program& program) { return {&program, &program.ops, &program.accesses, false}; }

TEST(ContextSync, CostsWhatItsOwnStreamsHaveQueued) {
  auto length = [](const char* sync) {
    const Program program = Busy(sync);
    return CriticalPath(TapeOf(program), {}).length;
  };
  EXPECT_EQ(length("sync G"), 3u);  // behind one kernel: a's three are the longest
  EXPECT_EQ(length("sync P"), 4u);
  EXPECT_EQ(length("sync device 1"), 3u);
  EXPECT_EQ(length("sync device"), 4u);
}

// The operations that the synchronisation is drawn to wait for.
std::vector<std::string> WaitsFor(const char* sync) {
  const Program program = Busy(sync);
  const Picture picture = MakePicture(TapeOf(program), {}, 100);
  std::vector<std::string> names;
  for (const Picture::Edge& edge : picture.edges) {
    if (picture.operations[edge.to].kind != OpKind::kDeviceSync) continue;
    names.push_back(picture.names[picture.operations[edge.from].name]);
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(ContextSync, IsDrawnToWaitForItsOwnStreams) {
  EXPECT_EQ(WaitsFor("sync G"), Names{"four"});
  EXPECT_EQ(WaitsFor("sync P"), (Names{"four", "three"}));
  EXPECT_EQ(WaitsFor("sync device 1"), Names{"five"});
}

}  // namespace
}  // namespace ss
