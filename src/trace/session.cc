#include "src/trace/session.h"

#include <algorithm>

#include "src/trace/encode.h"

namespace ss::trace {
namespace {

// Handed over at a time: a blocked producer goes on after each such piece.
constexpr size_t kPiece = 256 << 10;

constexpr int kLastPasses = 64;

}  // namespace

Session::Session(const ProcessInfo& info, uint64_t nonce, ControlPage* control, Sinks sinks)
    : info_(info), nonce_(nonce), control_(control), sinks_(std::move(sinks)) {
  Beat();
}

Session::~Session() { UnmapControlPage(control_); }

void Session::AddRing(std::unique_ptr<RingReader> ring) { rings_.push_back(std::move(ring)); }

void Session::AddCrumbs(const std::shared_ptr<const CrumbTable>& crumbs) {
  for (auto& sink : sinks_) sink->Crumbs(crumbs);
}

uint64_t Session::Watermark(uint64_t counter) const {
  for (const auto& ring : rings_) counter = std::min(counter, ring->in_call());
  return counter;
}

size_t Session::Drain(uint64_t counter) {
  if (finished_) return 0;
  uint64_t watermark = Watermark(counter);
  size_t bytes = 0;
  for (auto& ring : rings_) {
    bool closed = ring->closed();  // before the drain: what is published after this is not there
    bytes += DrainRing(ring.get());
    if (ring->broken() || (closed && ring->Peek().empty())) Retire(ring.get()), ring.reset();
  }
  std::erase(rings_, nullptr);
  for (auto& sink : sinks_) sink->Advance(watermark);
  return bytes;
}

// The longest run of whole records within a piece; empty when the first one is not whole.
ByteSpan Session::WholeRecords(ByteSpan bytes) {
  ByteSpan rest = bytes;
  RawRecord raw;
  while (bytes.size() - rest.size() < kPiece && TakeRecord(&rest, &raw)) {
    last_seq_ = std::max(last_seq_, raw.seq_before);
  }
  return bytes.first(bytes.size() - rest.size());
}

size_t Session::DrainRing(RingReader* ring) {
  size_t drained = 0;
  for (ByteSpan bytes = ring->Peek(); !bytes.empty(); bytes = ring->Peek()) {
    if (drained >= 16 * kPiece) break;  // the others' turn
    ByteSpan piece = WholeRecords(bytes);
    if (piece.empty()) {
      ending_.malformed_bytes += bytes.size();
      ring->Break();
      break;
    }
    for (auto& sink : sinks_) sink->Records(ring->thread(), piece);
    ring->Consume(piece.size());
    drained += piece.size();
  }
  return drained;
}

void Session::Retire(RingReader* ring) {
  ReportDrops(ring->thread(), ring->UnnotedDrops());
  if (ring->broken()) ++ending_.broken_rings;
}

void Session::ReportDrops(uint32_t thread, uint64_t count) {
  if (count == 0) return;
  ending_.dropped_at_end += count;
  uint8_t buffer[128];
  size_t bytes = Encode(buffer, sizeof buffer, last_seq_, last_seq_, view::Dropped{count});
  for (auto& sink : sinks_) sink->Records(thread, ByteSpan(buffer, bytes));
}

void Session::Tick() {
  for (auto& sink : sinks_) sink->Tick();
}

void Session::Finish(bool still_alive) {
  if (still_alive) control_->gone.store(1, std::memory_order_relaxed);
  // A dead process adds nothing; one that lives could keep this busy for ever.
  for (int pass = 0; Drain(Counter()) > 0 && (!still_alive || pass < kLastPasses); ++pass) {
  }
  for (auto& ring : rings_) Retire(ring.get());
  rings_.clear();
  ReportDrops(0, control_->dropped.load(std::memory_order_relaxed));
  ending_.still_alive = still_alive;
  finished_ = true;
  for (auto& sink : sinks_) sink->End(ending_);
}

}  // namespace ss::trace
