#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "src/trace/dump.h"
#include "src/trace/writer.h"
#include "tests/trace/records.h"

namespace ss::trace {
namespace {

std::string DumpOf(TraceReader& reader) {
  char* text = nullptr;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  EXPECT_TRUE(DumpTrace(reader, out));
  fclose(out);
  std::string result(text, size);
  free(text);
  return result;
}

TEST(Dump, ALine) {
  Record record;
  record.thread = 2;
  record.seq_before = 10;
  record.seq_after = 12;
  record.body =
      Launch{.function = 0x7f0000001000, .stream = 1, .words = {8, 0x7f0000002000}, .result = -3};
  EXPECT_EQ(
      DumpRecord(record),
      "10-12 2 Launch function=0x7f0000001000 stream=1 context=0 kind=0 words=[8,0x7f0000002000] "
      "result=-3 stack=0 graph_node=0 graph_exec=0 start_event=0");
  record.seq_after = 10;
  record.body = Module{.path = "a\"b\n", .build_id = "\x01\xff"};
  EXPECT_EQ(DumpRecord(record),
            "10 2 Module base=0 begin=0 end=0 path=\"a\\\"b\\x0a\" build_id=01ff");
  record.body = ProcessEnd{};
  EXPECT_EQ(DumpRecord(record), "10 2 ProcessEnd");
}

TEST(Dump, EveryTypeNamesItsFields) {
  Random random(1);
  Schema schema = ParseSchema(SchemaText());
  for (const Record& record : OneOfEach(random)) {
    std::string line = DumpRecord(record);
    uint32_t id = std::visit(
        [](const auto& body) -> uint32_t {
          if constexpr (requires { body.kId; }) return body.kId;
          return 0;
        },
        record.body);
    ASSERT_TRUE(schema.contains(id));
    EXPECT_NE(line.find(" " + schema[id].name), std::string::npos);
    for (const FieldSchema& field : schema[id].fields) {
      EXPECT_NE(line.find(" " + field.name + "="), std::string::npos) << line;
    }
  }
}

TEST(Dump, WhatOnlyTheTracesOwnSchemaKnows) {
  Schema schema = ParseSchema(
      "64 NoteRelease U64:tag I64:score TEXT:why\n900 Teleport U64:from WORDS:via BLOB:key\n");
  Record longer;
  longer.body = NoteRelease{5};
  longer.extra = std::string("\x03\x02ok", 4);
  EXPECT_EQ(DumpRecord(longer, &schema), "0 0 NoteRelease tag=5 score=-2 why=\"ok\"");
  EXPECT_EQ(DumpRecord(longer), "0 0 NoteRelease tag=5 (+4 bytes)");
  Record unknown;
  unknown.body = Unknown{900, std::string("\x07\x02\x01\x02\x01\xab", 6)};
  EXPECT_EQ(DumpRecord(unknown, &schema), "0 0 Teleport from=7 via=[1,2] key=ab");
  EXPECT_EQ(DumpRecord(unknown), "0 0 Unknown900 (+6 bytes)");
  unknown.body = Unknown{900, std::string("\x07\x7f", 2)};
  EXPECT_NE(DumpRecord(unknown, &schema).find("malformed"), std::string::npos);
}

TEST(Dump, ATraceWithItsNotes) {
  auto writer = TraceWriter::InMemory();
  (*writer)->Add(1, AsBytes(TagWire(2, 20)));
  (*writer)->Add(3, AsBytes(TagWire(1, 10)));
  (*writer)->Flush();  // no end mark
  auto reader = TraceReader::FromFile(std::move(*(*writer)->file().Share()));
  std::string text = DumpOf(*reader);
  EXPECT_EQ(text.find("# format 1."), 0u);
  EXPECT_NE(text.find("\n1 3 NoteRelease tag=10\n2 1 NoteRelease tag=20\n# "), std::string::npos)
      << text;
  EXPECT_NE(text.find("no end mark"), std::string::npos);
}

TEST(Document, IsWhatTheTableSays) {
  std::ifstream file(SS_SOURCE_DIR "/docs/trace-format.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == FormatDocument())
      << "write it again: build/<preset>/bin/trace_format_doc > docs/trace-format.md";
}

}  // namespace
}  // namespace ss::trace
