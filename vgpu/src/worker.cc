// The device at work: one thread that runs one slice at a time, and a second for host functions,
// which may block for as long as they like without holding up other streams.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "machine.h"
#include "options.h"

namespace ss::vgpu {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{1};  // between two looks at a value that the CPU writes

thread_local bool in_host_function = false;
thread_local bool in_worker = false;

bool Ready(const Op& op) {
  return !op.outside && !op.running && (!op.gate || op.gate()) &&
         std::all_of(op.after.begin(), op.after.end(),
                     [](const OpPtr& before) { return before->done; });
}

bool Done(const std::vector<OpPtr>& ops) {
  return std::all_of(ops.begin(), ops.end(), [](const OpPtr& op) { return op->done; });
}

}  // namespace

bool InHostFunction() { return in_host_function; }
bool OnDevice() { return in_host_function || in_worker; }

void Machine::Collect() {
  ready_.clear();
  for (const auto& [id, stream] : busy_) {
    Op& head = *stream->queue.front();
    if (Ready(head)) ready_.push_back(&head);
  }
}

bool Machine::Unmet() const {
  return std::any_of(goals_.begin(), goals_.end(),
                     [](const Goal& goal) { return !Done(goal.targets); });
}

bool Machine::AwaitsCpu() const {
  return std::any_of(busy_.begin(), busy_.end(), [](const auto& entry) {
    const Op& head = *entry.second->queue.front();
    return head.by_cpu && head.gate != nullptr;
  });
}

// The next operation to run a slice of, or null when the device rests.
Op* Machine::Choose() {
  if (closed_) return nullptr;
  if (draining_ && calls_ != drain_calls_) draining_ = false;
  Collect();
  const bool unmet = Unmet();
  if (ready_.empty()) {
    stepping_ = draining_ = false;
    forced_ = 0;
    if (unmet && outside_ == 0 && !AwaitsCpu()) GiveUp();
    return nullptr;
  }
  if (unmet || draining_) return policy_->Pick(ready_);
  if (forced_ > 0) {
    --forced_;
    return policy_->Pick(ready_);
  }
  if (stepping_ && policy_->RunMore(ready_)) return policy_->Pick(ready_);
  stepping_ = false;
  return nullptr;
}

void Machine::Loop() {
  in_worker = true;
  auto lock = Lock();
  for (;;) {
    if (Op* next = Choose()) {
      resting_ = false;
      RunSlice(lock, next->stream->queue.front());
      continue;
    }
    resting_ = true;
    changed_.notify_all();
    const uint64_t calls = calls_;
    if (Unmet() && AwaitsCpu()) {
      work_.wait_for(lock, kLook);
    } else if (options().idle_ms == 0) {
      work_.wait(lock);
    } else if (work_.wait_for(lock, milliseconds(options().idle_ms)) == std::cv_status::timeout &&
               calls == calls_) {
      draining_ = !busy_.empty();
      drain_calls_ = calls_;
    }
  }
}

void Machine::RunSlice(std::unique_lock<std::mutex>& lock, OpPtr op) {
  if (options().log) Log(*op);
  if (op->work == Work::kHostFunction) return RunOutside(lock, op);
  ++step_;
  if (op->run) {
    op->running = true;
    lock.unlock();
    op->run(op->next_slice);
    lock.lock();
    op->running = false;
  }
  if (++op->next_slice >= op->slices) Complete(*op);
  changed_.notify_all();
}

// Waits for the function for a while, so that a run stays the same from one time to the next; then
// other streams go on without it.
void Machine::RunOutside(std::unique_lock<std::mutex>& lock, const OpPtr& op) {
  ++step_;
  ++outside_;
  op->outside = true;
  host_functions_.push_back(op);
  functions_.notify_one();
  changed_.wait_for(lock, milliseconds(options().patience_ms), [&] { return op->done || closed_; });
}

void Machine::HostFunctionLoop() {
  in_host_function = true;
  auto lock = Lock();
  for (;;) {
    functions_.wait(lock, [this] { return !host_functions_.empty(); });
    OpPtr op = host_functions_.front();
    host_functions_.pop_front();
    lock.unlock();
    op->run(0);
    lock.lock();
    --outside_;
    Complete(*op);
    if (resting_) stepping_ = true;  // what it held up may be due at once
    changed_.notify_all();
    work_.notify_one();
  }
}

void Machine::Complete(Op& op) {
  op.done = true;
  op.done_step = step_;
  op.after.clear();
  op.run = nullptr;  // may hold staged data
  op.gate = nullptr;
  Stream* stream = op.stream;
  if (!busy_.contains(stream->id)) return;  // a restart dropped the queues
  stream->queue.pop_front();                // `op` lives on in its caller
  if (!stream->queue.empty()) return;
  busy_.erase(stream->id);
  if (stream->destroyed) stream->context->streams.erase(stream);
}

void Machine::Log(const Op& op) const {
  std::fprintf(
      stderr, "vgpu: step %llu: stream#%llu op %llu %s, slice %u of %u\n",
      static_cast<unsigned long long>(step_), static_cast<unsigned long long>(op.stream->id),
      static_cast<unsigned long long>(op.id), op.name.c_str(), op.next_slice + 1, op.slices);
}

}  // namespace ss::vgpu
