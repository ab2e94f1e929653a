#include "src/program/contexts.h"

namespace ss {

void ContextMap::Learn(const Op& create) {
  const uint64_t context = create.value >> 16;  // and rank
  const uint64_t rank = create.value >> 32 << 16;
  const uint64_t primary = create.object == 0 ? context : (create.object - 1) | rank;
  const auto type = static_cast<StreamType>(create.aux);
  homes_[create.stream] = {context, primary, static_cast<uint32_t>(create.value & 0xffff),
                           static_cast<uint32_t>(create.value >> 32)};
  if (type == StreamType::kContext) wholes_[create.stream] = context;
}

bool ContextMap::Syncs(const Op& sync, StreamId stream) const {
  const auto home = homes_.find(stream);
  if (home == homes_.end()) return false;
  const Home& at = home->second;
  if (at.device != sync.aux || at.rank != sync.value) return false;
  const uint64_t context = (sync.object - 1) | sync.value << 16;
  return sync.object == 0 || context == at.context || context == at.primary;
}

bool ContextMap::Stands(StreamId one, StreamId stream) const {
  const auto whole = wholes_.find(one);
  const auto home = homes_.find(stream);
  if (whole == wholes_.end() || home == homes_.end()) return false;
  return whole->second == home->second.context || whole->second == home->second.primary;
}

}  // namespace ss
