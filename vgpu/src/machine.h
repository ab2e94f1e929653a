// The state of the virtual GPU and its one lock. Every call of the interface takes the lock for its
// whole length, except while it waits and while code of the program (kernels, host functions) runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph.h"
#include "memory.h"
#include "objects.h"
#include "policy.h"
#include "pool.h"

namespace ss::vgpu {

// Owns the objects behind one kind of handle; a handle that is not in it is refused, never
// dereferenced.
template <typename T>
class Registry {
 public:
  T* Add(std::unique_ptr<T> object) {
    T* raw = object.get();
    objects_[raw] = std::move(object);
    return raw;
  }
  template <typename Handle>
  T* Find(Handle handle) const {
    auto it = objects_.find(reinterpret_cast<const T*>(handle));
    return it == objects_.end() ? nullptr : it->second.get();
  }
  void Remove(const T* object) { objects_.erase(object); }
  template <typename Visit>
  void Each(Visit visit) const {
    for (auto& [key, object] : objects_) visit(*object);
  }
  template <typename Predicate>
  void RemoveIf(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

 private:
  std::unordered_map<const T*, std::unique_ptr<T>> objects_;
};

class Machine {
 public:
  static Machine& Get();

  // --- life ---
  void Start();  // cuInit
  bool Restart(const char* policy, uint64_t seed);
  // The process exits: nothing more begins, what has begun ends (kernels and host functions are the
  // program's code, whose data go next), every later call is refused. As the real driver does it.
  void Close();

  // --- under lock() ---
  std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(mutex_); }
  Context* AddContext(int device, bool primary, unsigned flags);
  void RemoveContext(Context* context);  // its work is done
  Stream* AddStream(Context* context, StreamKind kind, int priority);
  void RemoveStream(Stream* stream);
  Stream* PerThread(Context* context);
  void EndThread(uint64_t thread);  // takes the lock
  // Queues an operation behind everything that the ordering rules put before it.
  OpPtr Issue(Stream& stream, NewOp what);
  // The last operations of all streams of a context, or of all contexts of a device.
  // The green contexts of a primary one are part of it.
  std::vector<OpPtr> Tails(const Context& context) const;
  std::vector<Context*> GreenOf(const Context& primary) const;
  std::vector<OpPtr> DeviceTails(int device) const;
  // The host goes on: the policy may let the device run first.
  void HostStep(std::unique_lock<std::mutex>& lock);
  // The host waits until all of `targets` are done. CUDA_ERROR_LAUNCH_TIMEOUT, with an account on
  // stderr, when they cannot be.
  CUresult Wait(std::unique_lock<std::mutex>& lock, const std::vector<OpPtr>& targets);
  // No operation runs when it returns; none begins before the lock is given up.
  void WaitForSlice(std::unique_lock<std::mutex>& lock);
  // A query: the state of `target` now. A host that polls lets the device get on.
  bool Poll(std::unique_lock<std::mutex>& lock, const OpPtr& target);

  bool started() const { return started_; }
  bool closed() const { return closed_; }
  uint64_t generation() const { return generation_; }
  uint64_t step() const { return step_; }
  uint64_t NewId() { return ++next_id_; }

  Registry<Context> contexts;
  Registry<Event> events;
  Registry<Module> modules;
  Registry<Module> libraries;
  Registry<Pool> pools;
  Registry<Graph> graphs;
  Registry<ExecutableGraph> executables;
  std::set<std::shared_ptr<Capture>> captures;  // under way
  std::unordered_set<const Function*> functions;
  std::unordered_map<const Stream*, Context*> streams;  // live explicit streams
  std::vector<Context*> primaries;                      // by device; null = inactive
  std::vector<Pool*> default_pools, current_pools;      // by device
  std::unique_ptr<Memory> memory;

 private:
  struct Goal {
    std::vector<OpPtr> targets;
    bool stuck = false;
  };

  Machine();
  void Build(const std::string& policy, uint64_t seed);
  void Loop();
  void HostFunctionLoop();
  Op* Choose();
  void Collect();  // fills ready_
  bool Unmet() const;
  bool AwaitsCpu() const;  // a stream waits for a value that the CPU can write
  void RunSlice(std::unique_lock<std::mutex>& lock, OpPtr op);
  void RunOutside(std::unique_lock<std::mutex>& lock, const OpPtr& op);
  void Complete(Op& op);
  void Demand(const std::vector<OpPtr>& targets);
  void GiveUp();
  void Account(const std::vector<OpPtr>& targets) const;
  void Log(const Op& op) const;

  std::mutex mutex_;
  std::condition_variable work_;       // worker: there may be something to do
  std::condition_variable changed_;    // host threads: an operation is done, or the worker rests
  std::condition_variable functions_;  // thread of host functions
  bool started_ = false;
  bool closed_ = false;
  bool resting_ = true;    // the worker has nothing to do
  bool stepping_ = false;  // a host call lets the device run ahead
  int forced_ = 0;         // steps that run whatever the policy says
  bool draining_ = false;  // the host has been away for long
  uint64_t calls_ = 0;     // host calls so far
  uint64_t drain_calls_ = 0;
  uint64_t polls_ = 0;  // queries in a row that found nothing done
  uint64_t step_ = 0;
  uint64_t next_id_ = 0;
  uint64_t outside_ = 0;     // host functions under way
  uint64_t generation_ = 0;  // restarts
  std::string policy_name_;
  std::unique_ptr<Policy> policy_;
  std::map<uint64_t, Stream*> busy_;  // streams with queued operations, by id
  std::vector<Op*> ready_;
  std::list<Goal> goals_;
  std::deque<OpPtr> host_functions_;
};

// Numbers host threads from 1; never reused.
uint64_t ThreadNumber();
// True on the thread that runs host functions: the driver refuses calls from there.
bool InHostFunction();
// True on either of the device's threads, which run code of the program.
bool OnDevice();
// True in a child of fork: the parent's device does not follow it there.
bool Forked();

}  // namespace ss::vgpu
