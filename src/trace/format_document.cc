// docs/trace-format.md is written by this (`./build/.../trace_format_doc > docs/trace-format.md`),
// and a test compares the two: a schema change without its documentation does not pass.
#include <fmt/format.h>

#include "src/trace/dump.h"
#include "src/trace/encode.h"
#include "src/trace/ring.h"

namespace ss::trace {
namespace {

constexpr char kIntroduction[] = R"(# Trace format {}.{}

Generated from `src/trace/schema.def`; do not edit.

A trace holds what one process image said about its driver calls. All numbers are little-endian.

## File

| bytes | content |
|---|---|
| 8 | magic `SSTRACE\n` |
| 4 + 4 | major, minor. Another major is refused, naming both; a newer minor is read. |
| 4 | length of the schema text, at most {} |
| 4 | CRC-32C of all bytes before this field and of the schema text |
| ... | the schema, a line a record: `41 Launch U64:function U64:stream ...` |
| ... | blocks to the end of the file |

## Block

A block stands for itself: a file that was cut is read to its last whole block, and a damaged block is
skipped, counted and located.

| bytes | content |
|---|---|
| 4 | magic `SSBK` |
| 4 | flags: {} = a note of the writer, {} = state that evicted history left behind |
| 4 | thread, numbered within the trace |
| 4 | records |
| 4 + 4 | unpacked bytes (at most {}), stored bytes |
| 8 + 8 | lowest and highest seq_before inside |
| 4 | CRC-32C of the stored bytes |
| 4 | CRC-32C of the {} bytes before |
| ... | one zstd frame, or the plain bytes when both lengths are equal |

A note is three varints (kind, records, last number); kinds: {} = end of the trace, {} = records that could
not be written so far, {} = records that were removed for `max_trace_mb` so far.

## Record

varint id, varint length, then as many bytes: varint seq_before, varint (seq_after - seq_before), the fields
in the order below. A varint has 7 bits a byte, lowest first, and may be longer than needed. At most {}
bytes a record.

One counter of the process numbers every record before and after the driver call; both are equal for
records that are no call. A reader sorts by seq_before, then thread, then place. A definition (Text, Stack,
Function, Module) carries the number of the call that needed it first; another thread may use it under a
lower number, so names are looked up late. Fields are only ever added at the end: missing ones read as zero,
surplus ones are kept apart, records of an unknown id are skipped and counted.

| type | encoding |
|---|---|
| U64 | varint |
| I64 | zigzag varint |
| TEXT, BLOB | varint length, bytes; longer than {} is cut |
| WORDS | varint count, varints |

## Records
)";

std::string Introduction() {
  return fmt::format(kIntroduction, kMajor, kMinor, kMaxSchema, static_cast<uint32_t>(kNoteBlock),
                     static_cast<uint32_t>(kCarriedBlock), kMaxBlock, kBlockHeaderBytes - 4,
                     static_cast<uint32_t>(Note::kEnd), static_cast<uint32_t>(Note::kLost),
                     static_cast<uint32_t>(Note::kEvicted), kMaxRecord, kMaxText);
}

}  // namespace

std::string FormatDocument() {
  std::string out = Introduction();
#define RECORD(id, Name, doc)           \
  {                                     \
    bool first = true;                  \
    std::string text = doc;             \
    out += "\n### " #id " " #Name "\n"; \
    if (!text.empty()) out += text + "\n";
#define FIELD(Type, name, doc)                                       \
  if (first) out += "\n| field | type | meaning |\n|---|---|---|\n"; \
  first = false;                                                     \
  out += fmt::format("| {} | {} | {} |\n", #name, #Type, std::string(doc));
#define END_RECORD() \
  (void)first;       \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
  return out;
}

}  // namespace ss::trace
