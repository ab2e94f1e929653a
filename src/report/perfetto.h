// A Perfetto trace (protobuf, TrackEvent), for ui.perfetto.dev and its trace processor.
#pragma once

#include <string>

#include "src/report/print.h"

namespace ss {

std::string PrintPerfetto(const PrintInput& input);

}  // namespace ss
