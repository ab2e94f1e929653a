// Where memory that the program allocated lies, coarsely: the first sieve for words of launch
// parameters. Two spans, because device and host memory are far apart. They only grow; what is
// really alive is the importer's business.
#pragma once

#include <atomic>
#include <cstdint>

namespace ss::capture {

struct Span {
  std::atomic<uint64_t> begin{~uint64_t{0}};
  std::atomic<uint64_t> end{0};

  void Widen(uint64_t first, uint64_t last) {
    for (uint64_t seen = begin.load(); first < seen && !begin.compare_exchange_weak(seen, first);) {
    }
    for (uint64_t seen = end.load(); last > seen && !end.compare_exchange_weak(seen, last);) {
    }
  }
};

struct Ranges {
  Span device;
  Span host;
};
inline Ranges g_ranges;

// The spans as one launch looks at them.
struct Sieve {
  uint64_t device_begin, device_size, host_begin, host_size;

  Sieve()
      : device_begin(g_ranges.device.begin.load(std::memory_order_relaxed)),
        device_size(g_ranges.device.end.load(std::memory_order_relaxed) - device_begin),
        host_begin(g_ranges.host.begin.load(std::memory_order_relaxed)),
        host_size(g_ranges.host.end.load(std::memory_order_relaxed) - host_begin) {
    if (device_begin == ~uint64_t{0}) device_size = 0;
    if (host_begin == ~uint64_t{0}) host_size = 0;
  }
  bool Passes(uint64_t word) const {
    return word - device_begin < device_size || word - host_begin < host_size;
  }
};

inline void ResetRanges() {
  for (Span* span : {&g_ranges.device, &g_ranges.host}) {
    span->begin.store(~uint64_t{0});
    span->end.store(0);
  }
}

}  // namespace ss::capture
