#include "src/explain/batch.h"

namespace ss {

// What other threads did in between is of other streams.
size_t BatchOf(const std::vector<Op>& ops, size_t index) {
  size_t begin = index;
  for (size_t i = index; (ops[begin].flags & kSameBatch) != 0 && i-- > 0;) {
    const bool same = ops[i].kind == OpKind::kCopy && ops[i].stream == ops[index].stream;
    if (same && ops[i].host == ops[index].host) begin = i;
  }
  return begin;
}

size_t EndOfBatch(const std::vector<Op>& ops, size_t index) {
  if ((ops[index].flags & (kBatchBegin | kSameBatch)) == 0) return index;
  size_t end = index;
  for (size_t i = index + 1; i < ops.size(); ++i) {
    if (ops[i].stream != ops[index].stream || ops[i].host != ops[index].host) continue;
    if (ops[i].kind != OpKind::kCopy || (ops[i].flags & kSameBatch) == 0) break;
    end = i;
  }
  return end;
}

bool OfOneBatch(const std::vector<Op>& ops, size_t first, size_t second) {
  return first != second && BatchOf(ops, first) == BatchOf(ops, second);
}

bool ReadsApart(const Op& op, const Site& site) {
  return op.kind == OpKind::kCopy && (op.flags & kSourceApart) != 0 && site.access == "read";
}

}  // namespace ss
