// From bytes to records. The wire form is described in encode.h; everything here takes bytes that
// may be corrupt, cut or written by a newer minor version.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/trace/record.h"

namespace ss::trace {

using ByteSpan = std::span<const uint8_t>;

// Walks over the fields of one record. After a malformed value all that follow are zero and bad()
// is true; after the regular end they are zero as well (a shorter record of an older minor).
class FieldReader {
 public:
  explicit FieldReader(ByteSpan bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  uint64_t Varint();
  std::string_view Bytes();
  bool AtEnd() const { return at_ == end_; }
  bool bad() const { return bad_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const uint8_t* at() const { return at_; }

  void Get(uint64_t* out) { *out = Varint(); }
  void Get(int64_t* out);
  void Get(std::string* out) { *out = Bytes(); }
  void Get(std::vector<uint64_t>* out);

 private:
  uint64_t Fail();

  const uint8_t* at_;
  const uint8_t* end_;
  bool bad_ = false;
};

// One record on the wire; points into the caller's bytes.
struct RawRecord {
  uint32_t id = 0;
  uint64_t seq_before = 0;
  uint64_t seq_after = 0;
  ByteSpan whole;
  ByteSpan fields;
};

// Takes the first record off `bytes`. False at the end, and where the frame itself does not fit:
// then `bytes` is not empty and nothing behind it can be trusted.
bool TakeRecord(ByteSpan* bytes, RawRecord* record);

// False when a field is malformed (its length exceeds the record). An unknown id gives Unknown.
bool Decode(const RawRecord& raw, uint32_t thread, Record* record);

}  // namespace ss::trace
