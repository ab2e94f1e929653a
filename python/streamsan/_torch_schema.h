// What an operator does to its arguments, as its schema says: read once, since a schema is a large
// thing to ask for.
#ifndef STREAMSAN_TORCH_SCHEMA_H_
#define STREAMSAN_TORCH_SCHEMA_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <stdint.h>

#include <string>
#include <vector>

namespace {

// As in streamsan_operator_tensors.
constexpr uint8_t kReads = 1, kWrites = 2, kPerhaps = 8, kGaps = 16;

struct Signature {
  std::vector<uint8_t> modes;  // by argument; empty: no operator, or one without arguments
  bool takes_list = false;     // of tensors: its kernels get at them through tables
  bool writes = false;
  bool aliases = false;   // a result that is (a part of) an argument
  bool complete = false;  // no tensor is made that is not among the arguments
};

bool IsTensorList(const c10::Type& type) {
  return type.isSubtypeOf(*c10::ListType::ofTensors()) ||
         type.isSubtypeOf(*c10::ListType::ofOptionalTensors());
}

Signature SignatureOf(const c10::FunctionSchema& schema) {
  Signature made;
  for (const c10::Argument& argument : schema.arguments()) {
    bool written = argument.alias_info() && argument.alias_info()->isWrite();
    // Operators that write several arguments mean some of them only in some cases.
    uint8_t mode = !written ? kReads : made.writes ? kReads | kWrites | kPerhaps : kReads | kWrites;
    made.modes.push_back(mode);
    made.writes |= written;
    made.takes_list |= IsTensorList(*argument.type());
  }
  made.complete = true;
  for (const c10::Argument& result : schema.returns()) {
    made.aliases |= result.alias_info() != nullptr;
    made.complete &= result.alias_info() != nullptr;
  }
  return made;
}

}  // namespace
#endif  // STREAMSAN_TORCH_SCHEMA_H_
