// A program written as a litmus file, to be changed by a test and judged.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/explain/analyse.h"
#include "src/litmus/litmus.h"

namespace ss {

inline Program FromLitmus(const std::string& text) {
  auto file = ParseLitmus(text, "test");
  EXPECT_TRUE(file.has_value()) << text;
  return file ? std::move(file->program) : Program{};
}

inline std::vector<Finding> FindingsOf(const Program& program) {
  return AnalyseProgram(program, {}).findings;
}

// The only operation of its kind.
inline Op& The(Program& program, OpKind kind) {
  Op* found = nullptr;
  for (Op& op : program.ops) {
    if (op.kind != kind) continue;
    EXPECT_EQ(found, nullptr) << "more than one";
    found = &op;
  }
  if (found == nullptr) throw std::runtime_error("no such operation");
  return *found;
}

}  // namespace ss
