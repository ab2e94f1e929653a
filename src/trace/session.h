// One watched process image: its control page, its rings, its sinks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/trace/drain.h"
#include "src/trace/sink.h"

namespace ss::trace {

using Sinks = std::vector<std::unique_ptr<ProcessSink>>;

class Session {
 public:
  Session(const ProcessInfo& info, uint64_t nonce, ControlPage* control, Sinks sinks);
  ~Session();

  // The order in a pass makes the watermark exact: Counter(), then the new rings off the socket,
  // then Drain(counter). A number below the counter was drawn before, so its ring has been
  // announced, and its call is either announced in its ring or already published.
  uint64_t Counter() const { return control_->next_seq.load(std::memory_order_acquire); }
  void AddRing(std::unique_ptr<RingReader> ring);
  void AddCrumbs(const std::shared_ptr<const CrumbTable>& crumbs);
  // Returns the bytes that were handed to the sinks.
  size_t Drain(uint64_t counter);
  void Tick();
  // Drains to the end and ends the sinks.
  void Finish(bool still_alive);

  void Beat() { control_->beat.fetch_add(1, std::memory_order_relaxed); }
  const ProcessInfo& info() const { return info_; }
  uint64_t nonce() const { return nonce_; }

 private:
  size_t DrainRing(RingReader* ring);
  ByteSpan WholeRecords(ByteSpan bytes);
  uint64_t Watermark(uint64_t counter) const;
  void ReportDrops(uint32_t thread, uint64_t count);
  void Retire(RingReader* ring);

  ProcessInfo info_;
  uint64_t nonce_;
  ControlPage* control_;
  Sinks sinks_;
  std::vector<std::unique_ptr<RingReader>> rings_;
  uint64_t last_seq_ = 0;
  ProcessEnding ending_;
  bool finished_ = false;
};

}  // namespace ss::trace
