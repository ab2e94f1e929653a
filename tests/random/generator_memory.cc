// Allocation, copies and what allocators do.
#include "tests/random/generator.h"

namespace ss::random {
namespace {

std::string Bytes(int units) { return std::to_string(units * 4) + "K"; }

}  // namespace

void Generator::AllocPlain(const std::string& kind, int size) {
  Buffer buffer;
  buffer.name = NewName(kind == "device" || kind == "managed" ? "D" : "H");
  buffer.kind = kind;
  buffer.size = size ? size : rng_.Percent(50) ? 1 : rng_.Between(1, 4);
  buffer.device = devices_ > 1 && rng_.Percent(30) ? 1 : 0;
  Emit("alloc " + buffer.name + " " + Bytes(buffer.size) + " " + kind +
       (buffer.device ? " device 1" : ""));
  buffers_.push_back(buffer);
}

void Generator::AllocCaching() {
  Buffer buffer;
  buffer.name = NewName("T");
  buffer.kind = "caching";
  buffer.size = rng_.Between(1, 4);
  buffer.owner = AnyStream();
  EmitAnyHost("alloc " + buffer.name + " " + Bytes(buffer.size) + " on " +
              streams_[buffer.owner].name);
  buffers_.push_back(buffer);
  if (rng_.Percent(20)) EmitAnyHost("fill " + buffer.name);
}

void Generator::AllocAsync() {
  Buffer buffer;
  buffer.name = NewName("P");
  buffer.kind = "pool";
  buffer.size = rng_.Between(1, 4);
  buffer.owner = AnyStream();
  std::string reuse;
  for (Buffer& old : buffers_) {
    if (old.kind != "pool" || !old.freed || old.taken || !rng_.Percent(40)) continue;
    old.taken = true;
    buffer.size = old.size;
    reuse = " reuse " + old.name;
    break;
  }
  EmitAnyHost("malloc_async " + buffer.name + " " + Bytes(buffer.size) + " on " +
              streams_[buffer.owner].name + reuse);
  buffers_.push_back(buffer);
}

void Generator::Alloc() {
  switch (rng_.Weighted({profile_.lifetime * 2, profile_.lifetime / 2, 3, 2, 2, 1})) {
    case 0:
      return AllocCaching();
    case 1:
      return AllocAsync();
    case 2:
      return AllocPlain("device");
    case 3:
      return AllocPlain("pinned");
    case 4:
      return AllocPlain("pageable");
    default:
      return AllocPlain("managed");
  }
}

void Generator::FreeAt(size_t index) {
  Buffer& buffer = buffers_[index];
  if (buffer.freed) return;
  buffer.freed = true;
  for (Buffer& view : buffers_) view.freed |= view.shows == buffer.name;
  if (buffer.kind == "pool") {
    const size_t stream = rng_.Percent(80) ? buffer.owner : AnyStream();
    return EmitAnyHost("free_async " + buffer.name + " on " + streams_[stream].name);
  }
  EmitAnyHost("free " + buffer.name);
}

void Generator::Free() {
  const auto live = Live(rng_.Percent(70) ? "caching pool" : "device pinned pageable managed");
  if (!live.empty()) FreeAt(rng_.Pick(live));
}

void Generator::Reuse() {
  for (size_t i = buffers_.size(); i-- > 0;) {
    Buffer& old = buffers_[i];
    if (old.kind != "caching" || !old.freed || old.taken || !rng_.Percent(60)) continue;
    old.taken = true;
    Buffer next = old;
    next.name = NewName("T");
    next.freed = next.taken = false;
    if (next.size > 1 && rng_.Percent(20)) --next.size;
    if (rng_.Percent(15)) next.owner = AnyStream();
    EmitAnyHost("alloc " + next.name + " " + Bytes(next.size) + " on " + streams_[next.owner].name +
                " reuse " + old.name);
    buffers_.push_back(next);
    if (rng_.Percent(40)) EmitAnyHost("fill " + next.name);
    return;
  }
  AllocCaching();
}

void Generator::RecordStream() {
  const auto live = Live(rng_.Percent(85) ? "caching" : "pinned");
  if (live.empty()) return;
  const std::string name = buffers_[Hot(live)].name;
  EmitAnyHost("record_stream " + name + " " + streams_[AnyStream()].name);
}

void Generator::Fill() {
  const auto live = Live("caching");
  if (live.empty()) return AllocCaching();
  const std::string name = buffers_[Hot(live)].name;
  EmitAnyHost("fill " + name + (rng_.Percent(15) ? " on " + streams_[AnyStream()].name : ""));
}

void Generator::View() {
  const auto live = Live("caching device");
  if (live.empty()) return;
  const size_t shown = Hot(live);
  Buffer view = buffers_[shown];
  if (view.size < 2) return;
  view.shows = view.name;
  view.kind = "view";
  view.name = NewName("V");
  const int begin = rng_.Between(0, view.size - 1);
  view.size = rng_.Between(1, view.size - begin);
  Emit("view " + view.name + " " + view.shows + "[" + Bytes(begin) + ":" +
       Bytes(begin + view.size) + "]");
  buffers_.push_back(view);
}

void Generator::Copy() {
  const std::string copy = CopyWords();
  if (copy.empty()) return;
  const size_t stream = AnyStream();
  if (!rng_.Percent(20)) return EmitOn(stream, (rng_.Percent(25) ? "copy_sync " : "copy ") + copy);
  // Of a batch: when each source is read is its own affair.
  auto batched = [&](const std::string& words, const std::string& batch) {
    const int order = rng_.Between(0, 2);
    const std::string source = order == 0   ? ""
                               : order == 1 ? " source any_time"
                                            : " source in_call";
    return "copy " + words + source + batch;
  };
  std::vector<std::string> batch = {batched(copy, "")};
  for (int more = rng_.Between(0, 2); more > 0; --more) {
    const std::string other = CopyWords();
    if (!other.empty()) batch.push_back(batched(other, " same_batch"));
  }
  EmitTogether(stream, batch);
}

// "TO <- FROM"; empty where there was no memory for it.
std::string Generator::CopyWords() {
  const auto from = Live(rng_.Percent(50) ? "caching device managed" : "pinned pageable");
  const auto to = Live(rng_.Percent(50) ? "caching device managed" : "pinned pageable");
  if (from.empty() || to.empty()) {
    AllocPlain(rng_.Percent(50) ? "pinned" : "pageable");
    return "";
  }
  const size_t source = Hot(from), target = Hot(to);
  if (source == target) return "";
  auto slice = [&](size_t buffer) {
    const int begin = rng_.Between(0, buffers_[buffer].size - 1);
    return buffers_[buffer].name + "[" + Bytes(begin) + ":" + Bytes(begin + 1) + "]";
  };
  const bool whole = buffers_[source].size == buffers_[target].size;
  std::string written = whole ? buffers_[target].name : slice(target);
  std::string read = whole ? buffers_[source].name : slice(source);
  if (rng_.Percent(profile_.rows * 2)) {
    const int row = rng_.Between(1, 2), count = rng_.Between(2, 4);
    const std::string some = Rows(target, row, count), others = Rows(source, row, count);
    if (!some.empty() && !others.empty()) written = some, read = others;
  }
  return written + " <- " + read;
}

void Generator::Memset() {
  const auto live = Live("caching device pinned managed");
  if (live.empty()) return;
  EmitOn(AnyStream(), (rng_.Percent(50) ? "memset " : "memset_async ") + Ranged(Hot(live), 10));
}

}  // namespace ss::random
