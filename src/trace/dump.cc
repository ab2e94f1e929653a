#include "src/trace/dump.h"

#include <fmt/format.h>

namespace ss::trace {
namespace {

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string Number(uint64_t value) {
  return value >> 32 ? fmt::format("{:#x}", value) : std::to_string(value);
}

std::string List(const std::vector<uint64_t>& words) {
  std::string out = "[";
  for (uint64_t word : words) out += (out.size() > 1 ? "," : "") + Number(word);
  return out + "]";
}

// By the type's name, because TEXT and BLOB are one C++ type.
std::string Format(std::string_view, uint64_t value) { return Number(value); }
std::string Format(std::string_view, int64_t value) { return std::to_string(value); }
std::string Format(std::string_view, const std::vector<uint64_t>& words) { return List(words); }
std::string Format(std::string_view type, const std::string& bytes) {
  return type == "BLOB" ? Hex(bytes) : Quote(bytes);
}

std::string FormatWire(const std::string& type, FieldReader& reader) {
  int64_t number = 0;
  std::vector<uint64_t> words;
  if (type == "I64") return reader.Get(&number), std::to_string(number);
  if (type == "WORDS") return reader.Get(&words), List(words);
  if (type == "TEXT") return Quote(reader.Bytes());
  if (type == "BLOB") return Hex(reader.Bytes());
  return Number(reader.Varint());
}

const RecordSchema* Find(const Schema* schema, uint32_t id) {
  if (!schema) return nullptr;
  auto at = schema->find(id);
  return at == schema->end() ? nullptr : &at->second;
}

// Fields from number `first` on, out of bytes that this version's table does not describe.
std::string DumpWire(const std::string& bytes, const RecordSchema* record, size_t first) {
  FieldReader reader(ByteSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  std::string out;
  for (size_t i = first; record && i < record->fields.size() && !reader.AtEnd(); ++i) {
    const FieldSchema& field = record->fields[i];
    out += fmt::format(" {}={}", field.name, FormatWire(field.type, reader));
  }
  if (reader.bad()) return out + " (malformed)";
  if (!reader.AtEnd()) out += fmt::format(" (+{} bytes)", reader.left());
  return out;
}

struct Line {
  const Schema* schema;
  std::string out;
  std::string extra;

  void operator()(const Unknown& unknown) {
    const RecordSchema* record = Find(schema, unknown.id);
    out += record ? record->name : fmt::format("Unknown{}", unknown.id);
    out += DumpWire(unknown.fields, record, 0);
  }
#define RECORD(id, Name, doc)           \
  void operator()(const Name& record) { \
    (void)record;                       \
    size_t fields = 0;                  \
    out += #Name;
#define FIELD(Type, name, doc)                                     \
  out += fmt::format(" {}={}", #name, Format(#Type, record.name)); \
  ++fields;
#define END_RECORD()                                  \
  Extra(std::decay_t<decltype(record)>::kId, fields); \
  }
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD

  void Extra(uint32_t id, size_t known) {
    if (!extra.empty()) out += DumpWire(extra, Find(schema, id), known);
  }
};

}  // namespace

std::string DumpRecord(const Record& record, const Schema* schema) {
  Line line{schema, Number(record.seq_before), record.extra};
  if (record.seq_after != record.seq_before) line.out += "-" + Number(record.seq_after);
  line.out += fmt::format(" {} ", record.thread);
  std::visit(line, record.body);
  return line.out;
}

bool DumpTrace(TraceReader& reader, FILE* out) {
  fmt::print(out, "# format {}.{}\n", reader.header().major, reader.header().minor);
  auto record = reader.Next();
  for (; record && *record; record = reader.Next()) {
    fmt::print(out, "{}\n", DumpRecord(**record, &reader.header().schema));
  }
  for (const std::string& note : reader.notes()) fmt::print(out, "# {}\n", note);
  if (!record) fmt::print(out, "# {}\n", record.error().Text());
  return record.has_value();
}

}  // namespace ss::trace
