#include "src/trace/decode.h"

namespace ss::trace {

uint64_t FieldReader::Fail() {
  bad_ = true;
  at_ = end_;
  return 0;
}

uint64_t FieldReader::Varint() {
  if (at_ == end_) return 0;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) return Fail();
    uint8_t byte = *at_++;
    if (shift == 63 && byte > 1) return Fail();
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return Fail();
}

std::string_view FieldReader::Bytes() {
  uint64_t size = Varint();
  if (size > left()) return Fail(), std::string_view();
  std::string_view bytes(reinterpret_cast<const char*>(at_), size);
  at_ += size;
  return bytes;
}

void FieldReader::Get(int64_t* out) {
  uint64_t zigzag = Varint();
  *out = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
}

void FieldReader::Get(std::vector<uint64_t>* out) {
  uint64_t count = Varint();
  out->clear();
  if (count > left())
    return void(Fail());  // a word is at least one byte: no claim can ask for more
  out->reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (AtEnd()) return void(Fail());
    out->push_back(Varint());
  }
}

bool TakeRecord(ByteSpan* bytes, RawRecord* record) {
  FieldReader frame(*bytes);
  uint64_t id = frame.Varint();
  if (frame.AtEnd()) return false;
  uint64_t length = frame.Varint();
  if (frame.bad() || length > frame.left() || id > UINT32_MAX) return false;
  auto header = static_cast<size_t>(frame.at() - bytes->data());
  ByteSpan payload = bytes->subspan(header, length);
  FieldReader fields(payload);
  if (payload.empty()) return false;
  record->id = static_cast<uint32_t>(id);
  record->seq_before = fields.Varint();
  record->seq_after = record->seq_before + fields.Varint();
  if (fields.bad()) return false;
  record->fields = payload.subspan(payload.size() - fields.left());
  record->whole = bytes->first(header + length);
  *bytes = bytes->subspan(header + length);
  return true;
}

namespace {

#define RECORD(id, Name, doc)                                          \
  [[maybe_unused]] void GetFields(FieldReader& reader, Name& record) { \
    (void)reader, (void)record;
#define FIELD(Type, name, doc) reader.Get(&record.name);
#define END_RECORD() }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

std::string Rest(const FieldReader& reader) {
  return std::string(reinterpret_cast<const char*>(reader.at()), reader.left());
}

}  // namespace

bool Decode(const RawRecord& raw, uint32_t thread, Record* record) {
  record->thread = thread;
  record->seq_before = raw.seq_before;
  record->seq_after = raw.seq_after;
  record->extra.clear();
  FieldReader reader(raw.fields);
  switch (raw.id) {
#define RECORD(id, Name, doc)                        \
  case id:                                           \
    GetFields(reader, record->body.emplace<Name>()); \
    break;
#define FIELD(Type, name, doc)
#define END_RECORD()
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
    default:
      record->body = Unknown{raw.id, Rest(reader)};
      return true;
  }
  if (!reader.AtEnd()) record->extra = Rest(reader);
  return !reader.bad();
}

}  // namespace ss::trace
