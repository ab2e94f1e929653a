// Any bytes are a recording of `streamsan pipeline watch` or a located error, and any recording
// shows something; never a crash. Seeds: tests/pipeline/recordings.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/pipeline/observe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ss::pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto recording = ReadRecording(bytes, "fuzz.sslog");
  if (!recording) {
    if (recording.error().place.rfind("fuzz.sslog@byte ", 0) != 0) std::abort();
    return 0;
  }
  const Observation seen = Observe(*recording);
  for (const SeenFinding& finding : seen.findings) {
    if (finding.kernel >= seen.kernels.size() || finding.text.empty()) std::abort();
    for (uint32_t barrier : finding.barriers) seen.kernels[finding.kernel].BarrierName(barrier);
  }
  return 0;
}
