#include "src/program/finding.h"

namespace ss {

const char* Name(Confidence confidence) {
  switch (confidence) {
    case Confidence::kPossible:
      return "possible";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kCertain:
      return "certain";
  }
  return "?";
}

const char* Name(FixKind kind) {
  switch (kind) {
    case FixKind::kRecordStream:
      return "record_stream";
    case FixKind::kReallocBeforeWait:
      return "realloc-before-wait";
    case FixKind::kWait:
      return "wait";
    case FixKind::kHostSync:
      return "host-sync";
    case FixKind::kPdlWait:
      return "pdl-wait";
    case FixKind::kHandoff:
      return "handoff";
    case FixKind::kFreeLater:
      return "free-later";
    case FixKind::kSourceOrder:
      return "source-order";
    case FixKind::kSplitBatch:
      return "split-batch";
  }
  return "?";
}

}  // namespace ss
