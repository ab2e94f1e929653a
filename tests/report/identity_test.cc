// One hazard in two runs: stacks have other numbers, images lie elsewhere, buffers count on.
#include "src/report/identity.h"

#include <gtest/gtest.h>

namespace ss {
namespace {

// The program at `bias`; stack `number` is at byte `offset` of it, in line `line` of Python code.
std::string IdInARun(uint64_t bias, StackId number, uint64_t offset, uint32_t line,
                     const std::string& buffer, const std::string& lane = "stream#1") {
  Symboliser symbols;
  symbols.AddModule(
      {bias, bias, bias + 0x9000, "/nowhere/run" + std::to_string(number) + "/app", ""});
  Frame python;
  python.fn = "step";
  python.file = "/home/" + std::to_string(number) + "/train.py";
  python.line = line;
  symbols.AddStack(number, {python}, {bias + offset});
  symbols.AddStack(number + 1, {bias + 0x20});
  Finding finding;
  finding.id = std::to_string(number);
  finding.code = "lifetime";
  finding.buffer.name = buffer;
  finding.first.name = "aten::mul";
  finding.first.lane = lane;
  finding.first.stack = number;
  finding.second.name = "free";
  finding.second.stack = number + 1;
  return StableId(symbols, finding);
}

TEST(Identity, IsTheSameInEveryRun) {
  const std::string id = IdInARun(0x10000, 3, 0x4010, 80, "alloc#10");
  EXPECT_EQ(IdInARun(0x70000, 91, 0x4010, 80, "alloc#2011", "stream#7"), id);
  EXPECT_EQ(id.size(), 16u);
}

TEST(Identity, TellsPlacesAndNamesApart) {
  const std::string id = IdInARun(0x10000, 3, 0x4010, 80, "alloc#10");
  EXPECT_NE(IdInARun(0x10000, 3, 0x4020, 80, "alloc#10"), id);
  EXPECT_NE(IdInARun(0x10000, 3, 0x4010, 81, "alloc#10"), id);
  EXPECT_NE(IdInARun(0x10000, 3, 0x4010, 80, "logits"), id);
}

TEST(Identity, OfALitmusFileIsTheDetectors) {
  Symboliser symbols;
  Finding finding;
  finding.id = "0123";
  EXPECT_EQ(StableId(symbols, finding), "0123");
}

}  // namespace
}  // namespace ss
