// Where the tensors among an operator's arguments lie, and what it does to them by its schema.
#ifndef STREAMSAN_TORCH_TENSORS_H_
#define STREAMSAN_TORCH_TENSORS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <vector>

#include "streamsan/annotate.h"

namespace {

size_t BaseOf(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage() || tensor.numel() == 0) return 0;
  if (tensor.key_set().has(c10::DispatchKey::Python)) return 0;  // a subclass, or no real data
  return reinterpret_cast<size_t>(tensor.const_data_ptr());
}

// From its first element to its last.
size_t BytesOf(const at::Tensor& tensor) {
  size_t elements = 1;
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    elements +=
        static_cast<size_t>(tensor.size(axis) - 1) * static_cast<size_t>(tensor.stride(axis));
  }
  return elements * tensor.element_size();
}

bool IsTensorList(const c10::Type& type) {
  return type.isSubtypeOf(*c10::ListType::ofTensors()) ||
         type.isSubtypeOf(*c10::ListType::ofOptionalTensors());
}

bool TakesList(const std::optional<c10::FunctionSchema>& schema) {
  if (!schema) return false;
  for (const c10::Argument& argument : schema->arguments()) {
    if (IsTensorList(*argument.type())) return true;
  }
  return false;
}

class OperatorTensors {
 public:
  // False: nothing to tell.
  bool Tell(const at::RecordFunction& fn) {
    std::optional<c10::FunctionSchema> schema = fn.operator_schema();
    if (!schema) return false;
    const auto inputs = fn.inputs();
    bool written = false;
    for (size_t at = 0; at < inputs.size() && at < schema->arguments().size(); ++at) {
      const c10::AliasInfo* alias = schema->arguments()[at].alias_info();
      uint64_t mode = kReads;
      // Operators that write several arguments mean some of them only in some cases.
      if (alias && alias->isWrite())
        mode = written ? kReads | kWrites | kPerhaps : kReads | kWrites;
      written |= alias && alias->isWrite();
      Add(inputs[at], mode);
    }
    if (triples_.empty()) return false;
    bool complete = true;  // no tensor is made that is not among the arguments
    for (const c10::Argument& result : schema->returns())
      complete &= result.alias_info() != nullptr;
    streamsan_operator_tensors(triples_.data(), static_cast<uint32_t>(triples_.size() / 3),
                               complete);
    return true;
  }

 private:
  static constexpr uint64_t kReads = 1, kWrites = 2, kPerhaps = 8;

  void Add(const c10::IValue& input, uint64_t mode) {
    if (input.isTensor()) return Add(input.toTensor(), mode);
    if (!input.isList()) return;
    for (const c10::IValue& item : input.toListRef()) {
      if (!item.isTensor()) return;
      Add(item.toTensor(), mode);
    }
  }
  void Add(const at::Tensor& tensor, uint64_t mode) {
    if (!tensor.defined() || !tensor.is_cuda()) return;
    if (size_t base = BaseOf(tensor))
      triples_.insert(triples_.end(), {base, BytesOf(tensor), mode});
  }

  std::vector<uint64_t> triples_;
};

void TellNoTensors() { streamsan_operator_tensors(nullptr, 0, 0); }

}  // namespace
#endif  // STREAMSAN_TORCH_TENSORS_H_
