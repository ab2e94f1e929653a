// Which streams the events over a context (StreamType::kContext) are about, and which a
// synchronisation of it.
#pragma once

#include <unordered_map>

#include "src/program/op.h"

namespace ss {

class ContextMap {
 public:
  void Learn(const Op& create);  // a kStreamCreate

  // Whether a record on `one` covers, and a wait of it holds up, what `stream` does: it is the same
  // stream, or stands for the context that it is in, or for the one that includes that.
  bool Includes(StreamId one, StreamId stream) const {
    return one == stream || (!wholes_.empty() && Stands(one, stream));
  }
  // Whether a kDeviceSync waits for what the stream has queued.
  bool Syncs(const Op& sync, StreamId stream) const;
  template <typename F>
  void ForEachWhole(StreamId stream, F f) const {
    for (const auto& [whole, home] : wholes_) {
      if (whole != stream && Stands(whole, stream)) f(whole);
    }
  }

 private:
  struct Home {
    uint64_t context = 0, primary = 0;
    uint32_t device = 0, rank = 0;
  };
  bool Stands(StreamId one, StreamId stream) const;

  std::unordered_map<StreamId, Home> homes_;
  std::unordered_map<StreamId, uint64_t> wholes_;
};

}  // namespace ss
