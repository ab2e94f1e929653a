// Where the tensors among an operator's arguments lie.
#ifndef STREAMSAN_TORCH_TENSORS_H_
#define STREAMSAN_TORCH_TENSORS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "_torch_schema.h"
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

void AddTensor(const at::Tensor& tensor, uint64_t mode, std::vector<uint64_t>& triples) {
  if (!tensor.defined() || !tensor.is_cuda()) return;
  size_t base = BaseOf(tensor);
  if (base == 0) return;
  // A view of some columns has gaps between its rows, in which another stream may well work.
  if (!tensor.is_non_overlapping_and_dense()) mode |= kGaps;
  triples.insert(triples.end(), {base, BytesOf(tensor), mode});
}

// False: nothing to tell.
bool TellTensors(c10::ArrayRef<const c10::IValue> inputs, const Signature& signature) {
  std::vector<uint64_t> triples;
  for (size_t at = 0; at < inputs.size() && at < signature.modes.size(); ++at) {
    if (inputs[at].isTensor()) AddTensor(inputs[at].toTensor(), signature.modes[at], triples);
    if (!inputs[at].isList()) continue;
    for (const c10::IValue& item : inputs[at].toListRef()) {
      if (item.isNone()) continue;  // an index that is left out
      if (!item.isTensor()) break;
      AddTensor(item.toTensor(), signature.modes[at], triples);
    }
  }
  if (triples.empty()) return false;
  streamsan_operator_tensors(triples.data(), static_cast<uint32_t>(triples.size() / 3),
                             signature.complete);
  return true;
}

void TellNoTensors() { streamsan_operator_tensors(nullptr, 0, 0); }

}  // namespace
#endif  // STREAMSAN_TORCH_TENSORS_H_
