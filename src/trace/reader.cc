#include "src/trace/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ss::trace {
namespace {

constexpr size_t kMaxLocated = 20;
constexpr size_t kScanBytes = 64 << 10;

ByteSpan AsBytes(std::string_view text) {
  return ByteSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

Result<TraceReader> TraceReader::Open(const std::string& path) {
  auto file = TraceFile::OpenForReading(path);
  if (!file) return tl::unexpected(file.error());
  return FromFile(std::move(*file));
}

Result<TraceReader> TraceReader::FromMemory(std::string_view bytes, const std::string& name) {
  auto file = TraceFile::Copy(bytes, name);
  if (!file) return tl::unexpected(file.error());
  return FromFile(std::move(*file));
}

Result<TraceReader> TraceReader::FromFile(TraceFile file, size_t max_waiting) {
  auto head = file.ReadAt(0, kFileHeaderBytes + kMaxSchema);
  if (!head) return tl::unexpected(head.error());
  auto header = UnpackFileHeader(AsBytes(*head), file.path());
  if (!header) return tl::unexpected(header.error());
  TraceReader reader(std::move(file), std::move(*header), max_waiting);
  if (auto done = reader.Index(); !done) return tl::unexpected(done.error());
  return reader;
}

Result<void> TraceReader::Index() {
  uint64_t at = header_.bytes;
  while (at < file_.size()) {
    auto found = FindBlock(at);
    if (!found) return tl::unexpected(found.error());
    if (*found == file_.size()) {
      stats_.cut_bytes = file_.size() - at;
      break;
    }
    if (*found > at) {
      stats_.damaged_bytes += *found - at;
      Damage(fmt::format("{}@byte {}: {} bytes are damaged and skipped", path(), at, *found - at));
    }
    auto bytes = file_.ReadAt(*found, kBlockHeaderBytes);
    if (!bytes) return tl::unexpected(bytes.error());
    BlockPlace place{*found + kBlockHeaderBytes, *UnpackBlockHeader(AsBytes(*bytes))};
    at = place.offset + place.header.stored_bytes;
    if (!(place.header.flags & kNoteBlock)) {
      blocks_.push_back(place);
    } else if (auto done = TakeNote(place); !done) {
      return done;
    }
  }
  stats_.blocks = blocks_.size();
  std::stable_sort(blocks_.begin(), blocks_.end(), [](const BlockPlace& a, const BlockPlace& b) {
    return a.header.min_seq < b.header.min_seq;
  });
  return {};
}

// Where the next whole block begins, from `from` on; the file's size when there is none.
Result<uint64_t> TraceReader::FindBlock(uint64_t from) const {
  char magic[4];
  memcpy(magic, &kBlockMagic, 4);
  size_t chunk = kBlockHeaderBytes;  // nearly always it is right here
  while (from + kBlockHeaderBytes <= file_.size()) {
    auto bytes = file_.ReadAt(from, chunk);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->size() < kBlockHeaderBytes) break;
    std::string_view view(*bytes);
    for (size_t at = view.find({magic, 4});
         at != view.npos && view.size() - at >= kBlockHeaderBytes;
         at = view.find({magic, 4}, at + 1)) {
      auto header = UnpackBlockHeader(AsBytes(view.substr(at)));
      uint64_t end = from + at + kBlockHeaderBytes + (header ? header->stored_bytes : 0);
      if (header && end <= file_.size()) return from + at;
    }
    from = file_.NextStored(from + bytes->size() - kBlockHeaderBytes + 1);
    chunk = kScanBytes;
  }
  return file_.size();
}

Result<std::string> TraceReader::Unpack(const BlockPlace& place, bool* damaged) {
  auto stored = file_.ReadAt(place.offset, place.header.stored_bytes);
  if (!stored) return stored;
  auto where = fmt::format("{}@byte {}", path(), place.offset - kBlockHeaderBytes);
  auto raw = UnpackBlock(place.header, AsBytes(*stored), where);
  *damaged = !raw;
  if (raw) return raw;
  ++stats_.damaged_blocks;
  stats_.damaged_records += place.header.records;
  Damage(fmt::format("{}; {} records of thread {} (numbers {} to {}) are skipped",
                     raw.error().Text(), place.header.records, place.header.thread,
                     place.header.min_seq, place.header.max_seq));
  return std::string();
}

Result<void> TraceReader::TakeNote(const BlockPlace& place) {
  bool damaged = false;
  auto raw = Unpack(place, &damaged);
  if (!raw) return tl::unexpected(raw.error());
  auto note = UnpackNote(*raw);
  if (damaged || !note) return {};
  if (note->kind == Note::kEnd) stats_.has_end = true;
  if (note->kind == Note::kLost) stats_.lost = std::max(stats_.lost, note->records);
  if (note->kind != Note::kEvicted) return {};
  stats_.evicted = std::max(stats_.evicted, note->records);
  stats_.evicted_to_seq = std::max(stats_.evicted_to_seq, note->last_seq);
  return {};
}

Result<void> TraceReader::LoadNextBlock() {
  const BlockPlace& place = blocks_[next_block_++];
  bool damaged = false;
  auto raw = Unpack(place, &damaged);
  if (!raw) return tl::unexpected(raw.error());
  ByteSpan rest = AsBytes(*raw);
  uint64_t whole = 0;
  for (RawRecord wire; TakeRecord(&rest, &wire); ++whole) {
    Record record;
    if (!Decode(wire, place.header.thread, &record)) {
      ++stats_.malformed_records;
      continue;
    }
    if (std::holds_alternative<Unknown>(record.body)) ++stats_.unknown_records;
    queue_.Add(std::move(record));
  }
  if (!damaged && whole < place.header.records) {
    stats_.malformed_records += place.header.records - whole;
  }
  return {};
}

Result<std::optional<Record>> TraceReader::Next() {
  for (;;) {
    bool more = next_block_ < blocks_.size();
    queue_.Advance(more ? blocks_[next_block_].header.min_seq : MergeQueue::kEverything);
    if (std::optional<Record> record = queue_.Pop()) {
      ++stats_.records;
      stats_.late = queue_.late();
      return record;
    }
    if (!more) return std::optional<Record>();
    if (auto done = LoadNextBlock(); !done) return tl::unexpected(done.error());
  }
}

void TraceReader::Damage(const std::string& what) {
  if (damage_.size() < kMaxLocated) damage_.push_back(what);
}

std::vector<std::string> TraceReader::notes() const {
  std::vector<std::string> notes = damage_;
  auto add = [&](uint64_t count, const char* text) {
    if (count) notes.push_back(fmt::format("{}: {} {}", path(), count, text));
  };
  uint64_t located = damage_.size();
  uint64_t places = stats_.damaged_blocks + (stats_.damaged_bytes ? 1 : 0);
  add(located == kMaxLocated && places > located ? stats_.damaged_blocks : 0,
      "blocks are damaged, the first ones are listed");
  add(stats_.cut_bytes, "bytes at the end are no whole block: the file is cut");
  add(stats_.unknown_records,
      "records are of types that this version does not know, and are skipped");
  add(stats_.malformed_records, "records are malformed, and are skipped");
  add(stats_.lost, "records could not be written when the trace was recorded");
  add(stats_.evicted,
      "records were removed to keep to max_trace_mb: the oldest history is missing");
  add(stats_.late, "records came after one with a higher number");
  if (!stats_.has_end) {
    notes.push_back(path() + ": no end mark: the recording was not finished, or still goes on");
  }
  return notes;
}

}  // namespace ss::trace
