// What a framework's operator does by its schema, for launches whose machine code leaves it open:
// pointers read from memory, tables of pointers.
#include <algorithm>

#include "src/import/state.h"

namespace ss {
namespace {
constexpr uint64_t kPerhaps = 8, kGaps = 16;  // OperatorTensors: mode bits

Evidence ExtentOf(bool gaps) { return gaps ? Evidence::kAssumed : Evidence::kSchema; }
}  // namespace

void Importer::State::On(const trace::OperatorTensors& record) {
  std::vector<OperatorTensor>& tensors = now_.life->tensors;
  if (record.tensors.empty()) return tensors.clear();
  for (size_t i = 0; i + 2 < record.tensors.size(); i += 3) {
    const Range range = MakeRange(record.tensors[i], record.tensors[i + 1]);
    if (range.begin == range.end) continue;
    const auto mode = static_cast<uint8_t>(record.tensors[i + 2] & (kRead | kWrite));
    tensors.push_back({range.begin, range.end, mode, (record.tensors[i + 2] & kPerhaps) != 0,
                       (record.tensors[i + 2] & kGaps) != 0});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const OperatorTensor& a, const OperatorTensor& b) { return a.begin < b.begin; });
  now_.life->tensors_complete = record.complete != 0;
}

const Importer::State::OperatorTensor* Importer::State::TensorAt(uint64_t address) const {
  const std::vector<OperatorTensor>& tensors = now_.life->tensors;
  auto at =
      std::upper_bound(tensors.begin(), tensors.end(), address,
                       [](uint64_t a, const OperatorTensor& tensor) { return a < tensor.begin; });
  if (at == tensors.begin() || address >= std::prev(at)->end) return nullptr;
  return &*std::prev(at);
}

// The direction of what was one of several words, and its extent; all of it where the code did not
// tell. One operator may launch several kernels, a part of its tensors each: each is taken to touch
// all of them, on the one stream on which they follow each other.
bool Importer::State::UseSchema(const Function& function, bool resolved) {
  for (Access& access : held_.LastAccesses()) {
    if (access.direction != Evidence::kAssumed) continue;
    const OperatorTensor* tensor = TensorAt(access.begin - Tag(0));
    if (tensor == nullptr || tensor->perhaps) continue;
    access.mode = tensor->mode;
    access.end = Tag(tensor->end);
    access.direction = Evidence::kSchema;
    access.extent = ExtentOf(tensor->gaps);
  }
  if (resolved || !now_.life->tensors_complete) return resolved;
  for (const OperatorTensor& tensor : now_.life->tensors) {
    AddAccess({tensor.begin, tensor.end}, tensor.mode, KindAt(tensor.begin),
              tensor.perhaps ? Evidence::kAssumed : Evidence::kSchema, ExtentOf(tensor.gaps));
  }
  auto unresolved = unresolved_.find(function.name);
  if (unresolved != unresolved_.end() && --unresolved->second.launches == 0) {
    unresolved_.erase(unresolved);
  }
  counts_.Add(Count::kBySchema);
  return true;
}

}  // namespace ss
