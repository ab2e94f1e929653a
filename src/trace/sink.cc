#include "src/trace/sink.h"

#include <fmt/format.h>

#include <algorithm>

namespace ss::trace {

using Clock = std::chrono::steady_clock;

std::string ProcessInfo::Name() const {
  return rank >= 0 ? fmt::format("{}.{}", rank, exec_number)
                   : fmt::format("{}.{}", pid, exec_number);
}

LiveSink::LiveSink(OnRecord on_record, OnEnd on_end, std::chrono::milliseconds patience)
    : on_record_(std::move(on_record)),
      on_end_(std::move(on_end)),
      patience_(patience),
      moved_(Clock::now()) {}

void LiveSink::Records(uint32_t thread, ByteSpan records) {
  for (RawRecord raw; TakeRecord(&records, &raw);) {
    Record record;
    if (!Decode(raw, thread, &record)) {
      ++malformed_;
      continue;
    }
    highest_seen_ = std::max(highest_seen_, raw.seq_before);
    queue_.Add(std::move(record));
  }
}

void LiveSink::Advance(uint64_t watermark) {
  Clock::time_point now = Clock::now();
  if (watermark > queue_.watermark() || queue_.waiting() == 0) moved_ = now;
  if (now - moved_ > patience_) watermark = highest_seen_ + 1;
  queue_.Advance(watermark);
  PopAll();
}

void LiveSink::PopAll() {
  while (std::optional<Record> record = queue_.Pop()) on_record_(*record);
}

void LiveSink::End(const ProcessEnding& ending) {
  queue_.Advance(MergeQueue::kEverything);
  PopAll();
  on_end_(ending, queue_.late(), malformed_);
}

std::string TracePath(const std::string& target, bool is_folder, bool first,
                      const ProcessInfo& info) {
  if (is_folder) return fmt::format("{}/{}.sst", target, info.Name());
  if (first) return target;
  size_t dot = target.rfind('.');
  size_t slash = target.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) dot = target.size();
  return fmt::format("{}.{}{}", target.substr(0, dot), info.Name(), target.substr(dot));
}

}  // namespace ss::trace
