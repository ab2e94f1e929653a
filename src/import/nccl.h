// NCCL's communicators and what has been asked of them but is not queued yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/import/objects.h"
#include "src/program/collectives.h"
#include "src/trace/record.h"

namespace ss {

struct NcclMember {
  uint32_t id = 0;    // of the communicator's life: dense, never reused
  int64_t rank = -1;  // -1 = unknown
  uint64_t ranks = 0;
};

struct NcclLife : NcclMember {
  std::string identity;              // as in CommEnd
  std::map<int64_t, uint64_t> made;  // from this one, by color
};

// Asked for, with who is who at that moment.
struct NcclAsked {
  trace::NcclCall call;  // its stack is the described one
  NcclMember comm;
  HostId host = 0;
  StreamId stream = 0;
};

// What of a group goes to one communicator: one operation (rule 23).
struct NcclWork {
  NcclMember comm;
  HostId host = 0;
  StreamId stream = 0;
  std::vector<trace::NcclCall> calls;
};

// A kernel of NCCL's whose calls NCCL tells of behind the launch.
struct NcclLaunch {
  uint64_t stream = 0, context = 0;
};

// An operation on no data, which NCCL leaves out; between two ranks there is none such.
bool IsEmptyCollective(const trace::NcclCall& call);
// `op` and `comm` are for the caller.
CollectiveCall MakeCall(const trace::NcclCall& call);
std::vector<NcclWork> WorksOf(const std::vector<NcclAsked>& asked);
// What of `work` must have its counterparts on other ranks; `id` names its operation.
void AddAsked(RankCalls& to, const NcclWork& work, OpId id);

class Nccl {
 public:
  // A handle that comes back is another communicator.
  NcclLife& Create(uint64_t handle) {
    NcclLife life;
    life.id = made_++;
    return lives_[handle] = life;
  }
  // Null for one that was never seen.
  NcclLife* Find(uint64_t handle) {
    auto at = lives_.find(handle);
    return at == lives_.end() ? nullptr : &at->second;
  }
  // Makes one up where none is known.
  const NcclMember& Get(uint64_t handle) {
    auto [at, fresh] = lives_.try_emplace(handle);
    if (fresh) at->second.id = made_++;
    return at->second;
  }
  void Destroy(uint64_t handle) { lives_.erase(handle); }

  void Add(const NcclAsked& asked) { open_[asked.call.group].push_back(asked); }
  // The calls of a group in their order; it is closed.
  std::vector<NcclAsked> Take(uint64_t group) {
    auto at = open_.find(group);
    if (at == open_.end()) return {};
    std::vector<NcclAsked> calls = std::move(at->second);
    open_.erase(at);
    return calls;
  }
  // What has not returned, by group.
  const std::map<uint64_t, std::vector<NcclAsked>>& open() const { return open_; }
  uint64_t CountOpen() const {
    uint64_t calls = 0;
    for (const auto& [group, waiting] : open_) calls += waiting.size();
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
  uint32_t made() const { return made_; }

  bool tells = false;                            // NCCL tells of its calls itself
  bool nonblocking = false;                      // some call was queued by a thread of NCCL's
  std::unordered_map<StringId, bool> is_kernel;  // by name: a kernel of NCCL's

 private:
  std::unordered_map<uint64_t, NcclLife> lives_;
  std::map<uint64_t, std::vector<NcclAsked>> open_;
  std::unordered_map<uint32_t, NcclLaunch> launches_;  // by thread
  uint32_t made_ = 0;
};

}  // namespace ss
