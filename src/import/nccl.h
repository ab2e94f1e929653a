// NCCL's communicators and what has been asked of them but is not queued yet.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/import/objects.h"
#include "src/trace/record.h"

namespace ss {

struct NcclLife {
  uint32_t id = 0;    // dense, never reused
  int64_t rank = -1;  // -1 = unknown
  uint64_t ranks = 0;
};

// What of a group goes to one communicator: one operation (rule 23).
struct NcclWork {
  NcclLife comm;
  std::vector<trace::NcclCall> calls;
};

// A kernel of NCCL's whose calls NCCL tells of behind the launch.
struct NcclLaunch {
  uint64_t stream = 0, context = 0;
};

class Nccl {
 public:
  // A handle that comes back is another communicator.
  NcclLife& Create(uint64_t handle) { return lives_[handle] = {made_++, -1, 0}; }
  // `known` is false if it had to be made up.
  const NcclLife& Get(uint64_t handle, bool* known) {
    auto [at, fresh] = lives_.try_emplace(handle);
    if (fresh) at->second.id = made_++;
    *known = !fresh && at->second.ranks != 0;
    return at->second;
  }
  void Destroy(uint64_t handle) { lives_.erase(handle); }

  void Add(const trace::NcclCall& call) { open_[call.group].push_back(call); }
  // The calls of a group in their order; it is closed.
  std::vector<trace::NcclCall> Take(uint64_t group) {
    auto at = open_.find(group);
    if (at == open_.end()) return {};
    std::vector<trace::NcclCall> calls = std::move(at->second);
    open_.erase(at);
    return calls;
  }
  // How many calls are in groups that nobody closed; they are forgotten.
  uint64_t TakeOpen() {
    uint64_t calls = 0;
    for (const auto& [group, waiting] : open_) calls += waiting.size();
    open_.clear();
    return calls;
  }

  // One a thread.
  void AddLaunch(uint32_t thread, const NcclLaunch& launch) { launches_[thread] = launch; }
  std::optional<NcclLaunch> TakeLaunch(uint32_t thread) {
    auto at = launches_.find(thread);
    if (at == launches_.end()) return std::nullopt;
    const NcclLaunch launch = at->second;
    launches_.erase(at);
    return launch;
  }
  uint64_t TakeLaunches() {
    const uint64_t count = launches_.size();
    launches_.clear();
    return count;
  }

  bool HasOpen() const { return !open_.empty(); }

  bool tells = false;                            // NCCL tells of its calls itself
  bool nonblocking = false;                      // some call was queued by a thread of NCCL's
  std::unordered_map<StringId, bool> is_kernel;  // by name: a kernel of NCCL's

 private:
  std::unordered_map<uint64_t, NcclLife> lives_;
  std::unordered_map<uint64_t, std::vector<trace::NcclCall>> open_;
  std::unordered_map<uint32_t, NcclLaunch> launches_;  // by thread
  uint32_t made_ = 0;
};

}  // namespace ss
