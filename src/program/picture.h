// A program as pictures show it: lanes, operations in the order of issue, the edges that were
// there, the lives of buffers. Plain data: made by src/explain, drawn by src/report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/program/op.h"

namespace ss {

struct Picture {
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Lane {
    std::string name;       // among several ranks with its rank
    const char* kind = "";  // "host thread", "stream", "graph branch"
  };
  struct Operation {
    OpId op = 0;
    size_t index = 0;  // as Site::index
    OpKind kind{};
    uint32_t lane = 0;
    uint32_t name = 0;         // into names
    uint32_t touch_begin = 0;  // its touches end where the next operation's begin
    StackId stack = 0;
    uint32_t line = 0;
    bool orders_nothing = false;  // waits for an event that was never recorded
  };
  struct Touch {
    uint32_t life = 0;
    uint8_t mode = 0;             // AccessMode bits
    uint64_t begin = 0, end = 0;  // relative to the buffer
  };
  struct Edge {  // positions in operations: `to` starts after `from` is complete
    uint32_t from = 0, to = 0;
  };
  struct Life {
    BufferId buffer = 0;
    uint32_t name = 0;  // into names
    uint64_t bytes = 0;
    uint32_t owner = kNone;               // lane
    uint32_t born = kNone, died = kNone;  // positions; kNone = outside of the picture
    uint32_t heir_of = kNone;             // the life that had (some of) its storage before
  };

  std::string source;  // as Finding::source
  int64_t rank = -1;   // of several processes: whose it is; -1 = all there are are in it
  std::vector<Lane> lanes;
  std::vector<std::string> names;
  std::vector<Operation> operations;
  std::vector<Touch> touches;
  std::vector<Edge> edges;
  std::vector<Life> lives;
  uint64_t left_out =
      0;  // operations far from every hazard, where there are too many for a picture

  // The position of the operation with this Site::index; kNone = left out.
  uint32_t PositionOf(size_t index) const;
};

}  // namespace ss
