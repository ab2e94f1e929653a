#include "tests/reference/split.h"

namespace ss::reference {
namespace {

// Any bit that a copy has no other use for.
constexpr uint32_t kSourcePart = kReuse;

}  // namespace

bool IsSourcePart(const Op& op) {
  return op.kind == OpKind::kCopy && (op.flags & kSourcePart) != 0;
}

std::vector<Op> SplitSources(const std::vector<Op>& ops, std::vector<size_t>* origin) {
  std::vector<Op> split;
  for (size_t i = 0; i < ops.size(); ++i) {
    Op op = ops[i];
    if (op.kind == OpKind::kCopy && (op.flags & kSourceApart) != 0) {
      Op source = op;
      source.flags |= kSourcePart;
      source.access_count = 1;
      split.push_back(source);
      origin->push_back(i);
      ++op.access_begin;
      --op.access_count;
    }
    split.push_back(op);
    origin->push_back(i);
  }
  return split;
}

}  // namespace ss::reference
