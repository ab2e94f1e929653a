#include "src/detect/call_text.h"

#include <fmt/format.h>

#include <iterator>
#include <tuple>

namespace ss {
namespace {

// As NCCL numbers them, + 1.
std::string DatatypeName(uint8_t datatype) {
  static const char* kNames[] = {"int8", "uint8", "int32",  "uint32",   "int64", "uint64",
                                 "half", "float", "double", "bfloat16", "e4m3",  "e5m2"};
  if (datatype == 0) return "";
  return datatype <= std::size(kNames) ? kNames[datatype - 1]
                                       : fmt::format("type {}", datatype - 1);
}
std::string ReductionName(uint8_t reduction) {
  static const char* kNames[] = {"sum", "product", "max", "min", "average"};
  if (reduction == 0) return "";
  return reduction <= std::size(kNames) ? kNames[reduction - 1]
                                        : fmt::format("reduction {}", reduction - 1);
}

auto WhatMustAgree(const CollectiveCall& call) {
  return std::tuple{call.kind, call.peer, call.bytes, call.datatype, call.reduction};
}

}  // namespace

const char* CallName(CollectiveKind kind) {
  static const char* kNames[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                 "broadcast", "barrier",   "send",          "recv",
                                 "reduce",    "gather",    "scatter"};
  const auto at = static_cast<size_t>(kind);
  return at < std::size(kNames) ? kNames[at] : "collective";
}

std::string CallText(const CollectiveCall& call) {
  std::string text = CallName(call.kind);
  if (call.bytes != 0) text += fmt::format(" of {} bytes", call.bytes);
  for (const std::string& detail : {DatatypeName(call.datatype), ReductionName(call.reduction)}) {
    if (!detail.empty()) text += ", " + detail;
  }
  const char* partner = PointToPoint(call.kind) ? "peer" : "root";
  if (call.peer != 0) text += fmt::format(", {} {}", partner, call.peer - 1);
  return text;
}

bool CallsAgree(const CollectiveCall& a, const CollectiveCall& b) {
  return WhatMustAgree(a) == WhatMustAgree(b);
}

}  // namespace ss
