#include "src/trace/writer.h"

#include <algorithm>

#include "src/trace/ring.h"

namespace ss::trace {
namespace {

constexpr uint64_t kSmallestBound = 1 << 20;

void Widen(BlockHeader* header, uint64_t seq) {
  header->min_seq = header->records == 0 ? seq : std::min(header->min_seq, seq);
  header->max_seq = std::max(header->max_seq, seq);
  ++header->records;
}

ByteSpan AsBytes(const std::string& text) {
  return ByteSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

TraceWriter::TraceWriter(TraceFile file, const WriterOptions& options)
    : file_(std::move(file)), options_(options) {
  if (options_.max_bytes) options_.max_bytes = std::max(options_.max_bytes, kSmallestBound);
  compact_at_ = options_.max_bytes / 10 * 6;
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(const std::string& path,
                                                         const WriterOptions& options) {
  auto file = TraceFile::Create(path);
  if (!file) return tl::unexpected(file.error());
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(*file), options));
  if (auto done = writer->Begin(); !done) return tl::unexpected(done.error());
  return writer;
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::InMemory(const WriterOptions& options) {
  auto file = TraceFile::InMemory();
  if (!file) return tl::unexpected(file.error());
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(*file), options));
  if (auto done = writer->Begin(); !done) return tl::unexpected(done.error());
  return writer;
}

Result<void> TraceWriter::Begin() { return file_.Append(PackFileHeader()); }

void TraceWriter::Add(uint32_t thread, ByteSpan records) {
  OpenBlock& block = open_[thread];
  block.header.thread = thread;
  for (RawRecord raw; TakeRecord(&records, &raw);) AddRecord(&block, raw);
  stats_.malformed_bytes += records.size();
}

void TraceWriter::AddRecord(OpenBlock* block, const RawRecord& raw) {
  if (raw.whole.size() > kMaxRecord) {  // no ring hands such a one over
    stats_.malformed_bytes += raw.whole.size();
    return;
  }
  Widen(&block->header, raw.seq_before);
  block->raw.append(raw.whole.begin(), raw.whole.end());
  ++stats_.records;
  stats_.raw_bytes += raw.whole.size();
  if (block->raw.size() >= kBlockTarget) CloseBlock(block);
}

void TraceWriter::CloseBlock(OpenBlock* block) {
  if (block->header.records == 0) return;
  std::string packed = PackBlock(block->header, block->raw);
  // After a first loss nothing is kept: with a gap in it, what was ordered would look like a race.
  bool room = !full_ || file_.size() + packed.size() <= options_.max_bytes;
  bool fits = stats_.lost == 0 && room;
  if (fits && Write(packed)) {
    last_seq_ = std::max(last_seq_, block->header.max_seq);
    if (options_.max_bytes) {
      BlockHeader written = *UnpackBlockHeader(AsBytes(packed));  // with its sizes and sum
      index_.push_back({file_.size() - packed.size(), packed.size(), written});
    }
  } else {
    stats_.lost += block->header.records;
  }
  block->header = {.thread = block->header.thread};
  block->raw.clear();
  KeepToBound();
}

bool TraceWriter::Write(const std::string& packed) {
  Result<void> done;
  if (stats_.lost == lost_noted_) {
    done = file_.Append(packed);
  } else {
    done = file_.Append(PackNote({Note::kLost, stats_.lost, last_seq_}) + packed);
    if (done) lost_noted_ = stats_.lost;
  }
  if (!done && !error_) error_ = done.error();
  return done.has_value();
}

void TraceWriter::Flush() {
  for (auto& [thread, block] : open_) CloseBlock(&block);
}

Result<void> TraceWriter::Close() {
  Flush();
  Write(PackNote({Note::kEnd, stats_.records, last_seq_}));
  if (error_) return tl::unexpected(*error_);
  return {};
}

void TraceWriter::KeepToBound() {
  if (!options_.max_bytes || full_ || file_.size() <= compact_at_) return;
  uint64_t keep = options_.max_bytes / 10 * 3;
  size_t evict = index_.size();
  for (uint64_t kept = 0; evict > 0 && kept + index_[evict - 1].bytes <= keep; --evict) {
    kept += index_[evict - 1].bytes;
  }
  Compact(evict);
}

// When it fails (no room for the second copy) the old file stays as it is, and is full from here
// on.
void TraceWriter::Compact(size_t evict) {
  Stats before = stats_;
  std::vector<WrittenBlock> index;
  auto fresh = file_.Sibling();
  Result<void> done;
  if (!fresh) {
    done = tl::unexpected(fresh.error());
  } else if (done = Rewrite(evict, &*fresh, &index); !done) {
    fresh->RemoveFromDisk();
  } else {
    done = file_.ReplaceBy(std::move(*fresh));
  }
  if (done) {
    index_ = std::move(index);
    compact_at_ = std::max(compact_at_, file_.size() + options_.max_bytes / 10);
    full_ = compact_at_ + kMaxBlock > options_.max_bytes;
    if (full_ && !error_) {
      error_ = Error{file_.path(), "the trace is full: what still lives fills max_trace_mb",
                     "raise max_trace_mb"};
    }
    return;
  }
  stats_ = before;
  full_ = true;
  if (!error_) error_ = done.error();
}

Result<void> TraceWriter::Rewrite(size_t evict, TraceFile* fresh,
                                  std::vector<WrittenBlock>* index) {
  carried_.BeginBatch();
  for (size_t i = 0; i < evict; ++i) {
    if (auto done = AbsorbBlock(index_[i]); !done) return done;
  }
  std::string head = PackFileHeader();
  head += PackNote({Note::kEvicted, stats_.evicted, stats_.evicted_to_seq});
  if (stats_.lost) head += PackNote({Note::kLost, stats_.lost, last_seq_});
  if (auto done = fresh->Append(head); !done) return done;
  if (auto done = WriteCarried(fresh); !done) return done;
  return CopyBlocks(evict, fresh, index);
}

Result<void> TraceWriter::AbsorbBlock(const WrittenBlock& block) {
  auto bytes = file_.ReadAt(block.offset + kBlockHeaderBytes, block.header.stored_bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  auto raw = UnpackBlock(block.header, AsBytes(*bytes), file_.path());
  if (!raw) return tl::unexpected(raw.error());
  ByteSpan rest = AsBytes(*raw);
  for (RawRecord record; TakeRecord(&rest, &record);) carried_.Apply(block.header.thread, record);
  stats_.evicted += block.header.records;
  stats_.evicted_to_seq = std::max(stats_.evicted_to_seq, block.header.max_seq);
  return {};
}

Result<void> TraceWriter::WriteCarried(TraceFile* file) {
  OpenBlock block;
  Result<void> done;
  auto flush = [&] {
    block.header.flags = kCarriedBlock;
    if (done && block.header.records) done = file->Append(PackBlock(block.header, block.raw));
    block = {};
  };
  for (const CarriedState::Kept& kept : carried_.Records()) {
    if (kept.thread != block.header.thread || block.raw.size() >= kBlockTarget) flush();
    block.header.thread = kept.thread;
    Widen(&block.header, kept.seq);
    block.raw += kept.wire;
  }
  flush();
  return done;
}

Result<void> TraceWriter::CopyBlocks(size_t from, TraceFile* file,
                                     std::vector<WrittenBlock>* index) {
  for (size_t i = from; i < index_.size(); ++i) {
    auto bytes = file_.ReadAt(index_[i].offset, index_[i].bytes);
    if (!bytes) return tl::unexpected(bytes.error());
    index->push_back({file->size(), index_[i].bytes, index_[i].header});
    if (auto done = file->Append(*bytes); !done) return done;
  }
  return {};
}

}  // namespace ss::trace
