// Random records of every type, and their encoding through the producer's views.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "src/trace/decode.h"
#include "src/trace/encode.h"
#include "src/trace/record.h"

namespace ss::trace {

using Random = std::mt19937_64;

// All magnitudes: half of the real values are small, the others addresses.
inline void Fill(Random& random, uint64_t* out) { *out = random() >> (random() % 64); }
inline void Fill(Random& random, int64_t* out) {
  *out = static_cast<int64_t>(random() >> (random() % 64)) * (random() % 2 ? 1 : -1);
}
inline void Fill(Random& random, std::string* out) {
  out->clear();
  for (size_t i = random() % 40; i > 0; --i) *out += static_cast<char>(random());
}
inline void Fill(Random& random, std::vector<uint64_t>* out) {
  out->resize(random() % 20);
  for (uint64_t& word : *out) Fill(random, &word);
}

inline uint64_t AsView(uint64_t value) { return value; }
inline int64_t AsView(int64_t value) { return value; }
inline view::Bytes AsView(const std::string& text) { return {text.data(), text.size()}; }
inline view::Words AsView(const std::vector<uint64_t>& words) {
  return {words.data(), words.size()};
}

#define RECORD(id, Name, doc)                            \
  inline void FillRecord(Random& random, Name& record) { \
    (void)random, (void)record;
#define FIELD(Type, name, doc) Fill(random, &record.name);
#define END_RECORD() }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

#define RECORD(id, Name, doc)                    \
  inline view::Name ViewOf(const Name& record) { \
    view::Name view;                             \
    (void)record;
#define FIELD(Type, name, doc) view.name = AsView(record.name);
#define END_RECORD() \
  return view;       \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

#define RECORD(id, Name, doc)                            \
  inline bool SameFields(const Name& a, const Name& b) { \
    (void)a, (void)b;                                    \
    bool same = true;
#define FIELD(Type, name, doc) same = same && a.name == b.name;
#define END_RECORD() \
  return same;       \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
inline bool SameFields(const Unknown& a, const Unknown& b) {
  return a.id == b.id && a.fields == b.fields;
}

inline bool Same(const Record& a, const Record& b) {
  if (a.thread != b.thread || a.seq_before != b.seq_before || a.seq_after != b.seq_after)
    return false;
  return std::visit(
      [](const auto& x, const auto& y) {
        if constexpr (std::is_same_v<decltype(x), decltype(y)>) return SameFields(x, y);
        return false;
      },
      a.body, b.body);
}

// A random record of each type, in the table's order.
inline std::vector<Record> OneOfEach(Random& random) {
  std::vector<Record> records;
#define RECORD(id, Name, doc)                                          \
  records.emplace_back();                                              \
  records.back().seq_before = random() >> (random() % 64);             \
  records.back().seq_after = records.back().seq_before + random() % 9; \
  FillRecord(random, records.back().body.emplace<Name>());
#define FIELD(Type, name, doc)
#define END_RECORD()
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
  return records;
}

inline std::string Wire(const Record& record) {
  std::string out(kMaxText * 4, '\0');
  auto* buffer = reinterpret_cast<uint8_t*>(out.data());
  size_t bytes = std::visit(
      [&](const auto& body) -> size_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, Unknown>) {
          return 0;
        } else {
          return Encode(buffer, out.size(), record.seq_before, record.seq_after, ViewOf(body));
        }
      },
      record.body);
  out.resize(bytes);
  return out;
}

inline ByteSpan AsBytes(const std::string& text) {
  return ByteSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

// A record of any id with hand-made fields, as another version may have written it.
inline std::string ForeignWire(uint32_t id, uint64_t seq, const std::string& fields) {
  uint8_t head[64];
  uint8_t* at = PutVarint(head, seq);
  at = PutVarint(at, 0);
  std::string payload(reinterpret_cast<char*>(head), static_cast<size_t>(at - head));
  payload += fields;
  at = PutVarint(head, id);
  at = PutVarint(at, payload.size());
  return std::string(reinterpret_cast<char*>(head), static_cast<size_t>(at - head)) + payload;
}

// The smallest useful record: NoteRelease with a tag.
inline std::string TagWire(uint64_t seq, uint64_t tag) {
  Record record;
  record.seq_before = record.seq_after = seq;
  record.body = NoteRelease{tag};
  return Wire(record);
}

inline uint64_t TagOf(const Record& record) {
  const auto* note = std::get_if<NoteRelease>(&record.body);
  return note ? note->tag : ~uint64_t{0};
}

}  // namespace ss::trace
