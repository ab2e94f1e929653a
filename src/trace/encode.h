// The encoder of the producer's side, generated from schema.def: for each record a struct of views
// with the same name in ss::trace::view, and one overload of Encode. No allocation, no exception,
// libc only.
//
//   uint8_t buffer[kMaxRecord];                  // one a thread
//   size_t n = Encode(buffer, sizeof buffer, before, after,
//                     view::Launch{.function = f, .stream = s, .words = {pairs, count}});
//   ring->Append(buffer, n);                     // n == 0 did not fit; Append counts it as dropped
//
// Wire form of a record: varint id, varint payload length, payload; payload: varint seq_before,
// varint (seq_after - seq_before), fields in the table's order. The numbers are absolute and not
// relative to the record before: a dropped record must not shift all that follow, and zstd takes
// back most of the cost. The length is written in two bytes even when one would do, so that it can
// be filled in afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ss::trace {

constexpr size_t kMaxText = 16 << 10;  // longer TEXT and BLOB are cut (a command line can be 2 MiB)

namespace view {

struct Bytes {
  const char* data = nullptr;
  size_t size = 0;

  constexpr Bytes() = default;
  constexpr Bytes(const char* bytes, size_t count) : data(bytes), size(count) {}
  Bytes(const char* text) : data(text), size(text ? strlen(text) : 0) {}
};
struct Words {
  const uint64_t* data = nullptr;
  size_t size = 0;
};

using U64 = uint64_t;
using I64 = int64_t;
using TEXT = Bytes;
using BLOB = Bytes;
using WORDS = Words;

#define RECORD(id, Name, doc) \
  struct Name {               \
    static constexpr uint32_t kId = id;
#define FIELD(Type, name, doc) Type name{};
#define END_RECORD() \
  }                  \
  ;
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

}  // namespace view

// Up to 10 bytes. Small numbers (results, kinds, stack ids) take the first branch, addresses the
// second: 7-bit groups are spread over 8 bytes with three shifts and stored at once, which needs 8
// bytes of room.
inline uint8_t* PutVarint(uint8_t* at, uint64_t value) {
  if (value < 0x80) {
    *at = static_cast<uint8_t>(value);
    return at + 1;
  }
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && value >> 56 == 0) {
    uint64_t x = (value & 0x0fffffff) | ((value & 0xfffffff0000000) << 4);
    x = (x & 0x00003fff00003fff) | ((x & 0x0fffc0000fffc000) << 2);
    x = (x & 0x007f007f007f007f) | ((x & 0x3f803f803f803f80) << 1);
    unsigned bytes = (63 - static_cast<unsigned>(__builtin_clzll(value))) / 7 + 1;
    x |= 0x8080808080808080 & ((uint64_t{1} << (8 * (bytes - 1))) - 1);
    memcpy(at, &x, 8);
    return at + bytes;
  }
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at = static_cast<uint8_t>(value);
  return at + 1;
}

// seq_before of an encoded record that is known to be whole.
inline uint64_t PeekSeqBefore(const uint8_t* record) {
  uint64_t value = 0;
  for (int skip = 0; skip < 3; ++skip) {  // id, length, then the number itself
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      value |= uint64_t{*record & 0x7fu} << shift;
      if ((*record++ & 0x80) == 0) break;
    }
  }
  return value;
}

class Encoder {
 public:
  Encoder(uint8_t* buffer, size_t capacity) : begin_(buffer), end_(buffer + capacity) {}

  void Begin(uint32_t id, uint64_t seq_before, uint64_t seq_after) {
    at_ = begin_;
    if (!Room(kVarintRoom * 4)) return;
    at_ = payload_ = PutVarint(at_, id) + 2;
    at_ = PutVarint(at_, seq_before);
    at_ = PutVarint(at_, seq_after - seq_before);
  }
  void Put(uint64_t value) {
    if (Room(kVarintRoom)) at_ = PutVarint(at_, value);
  }
  void Put(int64_t value) {
    Put((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void Put(view::Bytes bytes) {
    size_t size = bytes.size < kMaxText ? bytes.size : kMaxText;
    if (!Room(kVarintRoom + size)) return;
    at_ = PutVarint(at_, size);
    if (size) memcpy(at_, bytes.data, size);
    at_ += size;
  }
  void Put(view::Words words) {
    Put(uint64_t{words.size});
    bool fits = words.size <= static_cast<size_t>(end_ - at_) / kVarintRoom;
    for (size_t i = 0; i < words.size && (fits || Room(kVarintRoom)); ++i) {
      at_ = PutVarint(at_, words.data[i]);
    }
  }
  // Bytes of the record, 0 = it did not fit.
  size_t End() {
    if (failed_) return 0;
    size_t length = static_cast<size_t>(at_ - payload_);
    if (length >= size_t{1} << 14) return EndLong(length);
    payload_[-2] = static_cast<uint8_t>(length | 0x80);
    payload_[-1] = static_cast<uint8_t>(length >> 7);
    return static_cast<size_t>(at_ - begin_);
  }

 private:
  static constexpr size_t kVarintRoom = 10;

  bool Room(size_t bytes) {
    if (!failed_ && static_cast<size_t>(end_ - at_) >= bytes) return true;
    failed_ = true;
    return false;
  }
  __attribute__((noinline)) size_t EndLong(size_t length) {
    if (!Room(1) || length >= size_t{1} << 21) return 0;
    memmove(payload_ + 1, payload_, length);
    payload_[-2] = static_cast<uint8_t>(length | 0x80);
    payload_[-1] = static_cast<uint8_t>(length >> 7 | 0x80);
    payload_[0] = static_cast<uint8_t>(length >> 14);
    return static_cast<size_t>(at_ + 1 - begin_);
  }

  uint8_t* begin_;
  uint8_t* end_;
  uint8_t* at_ = nullptr;
  uint8_t* payload_ = nullptr;
  bool failed_ = false;
};

#define RECORD(id, Name, doc)                                                             \
  inline size_t Encode(uint8_t* buffer, size_t capacity, uint64_t before, uint64_t after, \
                       const view::Name& record) {                                        \
    Encoder encoder(buffer, capacity);                                                    \
    (void)record;                                                                         \
    encoder.Begin(id, before, after);
#define FIELD(Type, name, doc) encoder.Put(record.name);
#define END_RECORD()    \
  return encoder.End(); \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

}  // namespace ss::trace
