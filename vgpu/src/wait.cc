// The host's side of time: going on, waiting, polling, and giving up with an account of why.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "machine.h"
#include "options.h"

namespace ss::vgpu {

namespace {

using std::chrono::milliseconds;
using ull = unsigned long long;

constexpr uint64_t kPollsBeforeHelp = 2;

bool Done(const std::vector<OpPtr>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const OpPtr& op) { return op->done; });
}

}  // namespace

void Machine::HostStep(std::unique_lock<std::mutex>& lock) {
  ++calls_;
  // While another thread waits, the device runs anyhow, and this thread must not wait with it.
  if (busy_.empty() || Unmet()) return;
  if (resting_) {
    Collect();
    if (ready_.empty() || (forced_ == 0 && !policy_->RunMore(ready_))) return;
    if (forced_ == 0) forced_ = 1;  // the step that was just agreed to
  }
  stepping_ = true;
  resting_ = false;
  work_.notify_one();
  changed_.wait_for(lock, milliseconds(options().patience_ms), [this] { return resting_; });
}

void Machine::Demand(const std::vector<OpPtr>& targets) {
  std::vector<Op*> open, found;
  for (const OpPtr& op : targets) open.push_back(op.get());
  while (!open.empty()) {
    Op* op = open.back();
    open.pop_back();
    if (op->done || op->needed) continue;
    op->needed = true;
    found.push_back(op);
    for (const OpPtr& before : op->after) open.push_back(before.get());
    if (Op* before = Predecessor(*op)) open.push_back(before);
  }
  if (found.empty()) return;
  std::sort(found.begin(), found.end(), [](const Op* a, const Op* b) { return a->id < b->id; });
  policy_->Plan(found);
}

CUresult Machine::Wait(std::unique_lock<std::mutex>& lock, const std::vector<OpPtr>& targets) {
  ++calls_;
  polls_ = 0;
  if (Done(targets)) return CUDA_SUCCESS;
  Demand(targets);
  goals_.push_back({targets, false});
  const auto goal = std::prev(goals_.end());
  const uint64_t generation = generation_;
  uint64_t seen = step_;
  resting_ = false;
  work_.notify_one();
  const auto over = [&] {
    return goal->stuck || Done(goal->targets) || generation_ != generation || closed_;
  };
  while (!over()) {
    const bool timely = changed_.wait_for(lock, milliseconds(options().timeout_ms),
                                          [&] { return over() || step_ != seen; });
    if (!timely) goal->stuck = true;
    seen = step_;
  }
  const bool done = Done(goal->targets);
  if (!done && !closed_) Account(goal->targets);
  goals_.erase(goal);
  if (!done && closed_) return CUDA_ERROR_DEINITIALIZED;
  return done ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

void Machine::WaitForSlice(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] {
    return std::none_of(busy_.begin(), busy_.end(),
                        [](const auto& entry) { return entry.second->queue.front()->running; });
  });
}

bool Machine::Poll(std::unique_lock<std::mutex>& lock, const OpPtr& target) {
  if (!target || target->done) {
    HostStep(lock);
    polls_ = 0;
    return true;
  }
  if (++polls_ > kPollsBeforeHelp) {
    policy_->HostYields();
    Demand({target});
    forced_ = 1;
  }
  HostStep(lock);
  return target->done;
}

// Nothing can run and host threads wait: they are told so instead of hanging.
void Machine::GiveUp() {
  for (Goal& goal : goals_) {
    if (!Done(goal.targets)) goal.stuck = true;
  }
  changed_.notify_all();
}

void Machine::Account(const std::vector<OpPtr>& targets) const {
  for (const OpPtr& op : targets) {
    if (op->done) continue;
    std::fprintf(stderr, "vgpu: a host thread waits in vain for op %llu (%s) on stream#%llu\n",
                 static_cast<ull>(op->id), op->name.c_str(), static_cast<ull>(op->stream->id));
  }
  for (const auto& [id, stream] : busy_) {
    const Op& head = *stream->queue.front();
    std::fprintf(stderr, "vgpu:   stream#%llu: op %llu (%s) %s", static_cast<ull>(id),
                 static_cast<ull>(head.id), head.name.c_str(),
                 head.running || head.outside ? "has begun and does not end" : "waits for");
    for (const OpPtr& before : head.after) {
      if (before->done) continue;
      std::fprintf(stderr, " op %llu (%s) on stream#%llu", static_cast<ull>(before->id),
                   before->name.c_str(), static_cast<ull>(before->stream->id));
    }
    std::fprintf(stderr, "\n");
  }
}

}  // namespace ss::vgpu
