// Record structs generated from schema.def: struct per record, one variant for readers.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ss::trace {

using U64 = uint64_t;
using I64 = int64_t;
using TEXT = std::string;
using BLOB = std::string;
using WORDS = std::vector<uint64_t>;

constexpr uint32_t kMajor = 1;  // another major is refused, naming both
constexpr uint32_t kMinor = 0;

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

// A record of an id that this reader does not know: kept so that it can be counted, and dumped with
// the help of the schema in the trace's header.
struct Unknown {
  uint32_t id = 0;
  std::string fields;  // as on the wire
};

using Body = std::variant<Unknown
#define RECORD(id, Name, doc) , Name
#define FIELD(Type, name, doc)
#define END_RECORD()
#include "src/trace/schema.def"
#undef RECORD
#undef FIELD
#undef END_RECORD
                          >;

struct Record {
  uint32_t thread = 0;
  uint64_t seq_before = 0;
  uint64_t seq_after = 0;
  Body body;
  std::string
      extra;  // fields that a newer minor version put behind those of this table, as on the wire
};

}  // namespace ss::trace
