#include "src/program/contexts.h"

namespace ss {

void ContextMap::Learn(const Op& create) {
  const uint64_t context = create.value >> 16;  // and rank
  const uint64_t rank = create.value >> 32 << 16;
  const uint64_t primary = create.object == 0 ? context : (create.object - 1) | rank;
  const auto type = static_cast<StreamType>(create.aux);
  homes_[create.stream] = {context, primary};
  if (type == StreamType::kContext) wholes_[create.stream] = context;
}

bool ContextMap::Stands(StreamId one, StreamId stream) const {
  const auto whole = wholes_.find(one);
  const auto home = homes_.find(stream);
  if (whole == wholes_.end() || home == homes_.end()) return false;
  return whole->second == home->second.context || whole->second == home->second.primary;
}

}  // namespace ss
