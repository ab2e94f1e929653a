// What threads were doing in their framework's terms (Doing records): operator, module, program
// line. It goes into the names of operations and, as frames in front of the native ones, into call
// stacks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/base/strings.h"
#include "src/program/op.h"

namespace ss {

struct Doing {
  StringId op = 0;       // "aten::mm"
  StringId forward = 0;  // of a backward operator
  StringId module = 0;   // "layers.3.mlp"
  StringId site = 0;     // FUNCTION, FILE, LINE, a line each

  friend bool operator==(const Doing&, const Doing&) = default;
};

// A recorded stack together with where the program was.
struct DescribedStack {
  StackId id = 0;
  StackId recorded = 0;  // id of the trace, 0 = none
  std::string function, file;
  uint32_t line = 0;
  std::string module;  // where it was seen first: one line in many layers is one place
};

class Doings {
 public:
  explicit Doings(StringTable& strings) : strings_(strings) {}

  // `recorded` itself where nothing is known beyond it, and for an id that came from here.
  StackId Stack(uint64_t recorded, const Doing& doing);
  // "aten::mm: KERNEL", "MmBackward0 (backward of aten::mm): KERNEL"; `name` where no operator is
  // known. A mangled kernel name is demangled and shortened: the operator says what its arguments
  // would.
  StringId Name(StringId name, const Doing& doing);

  const std::vector<DescribedStack>& stacks() const { return stacks_; }

 private:
  // Ids of the trace are below (the capture library has at most 2^20); ids of several processes are
  // added up, so this must not be near the end of 32 bits.
  static constexpr StackId kFirst = StackId{1} << 24;
  using StackKey = std::tuple<StackId, StringId, StringId, StringId>;
  using NameKey = std::tuple<StringId, StringId, StringId>;

  StringTable& strings_;
  std::map<StackKey, StackId> ids_;
  std::map<NameKey, StringId> names_;
  std::vector<DescribedStack> stacks_;
};

}  // namespace ss
