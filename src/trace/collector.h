// The watching process's end of everything: accepts watched processes on a socket, drains their
// rings in a thread of its own, and gives the records to sinks that are made for each process.
//
// A process is over when it is dead (pidfd; a hang-up alone proves little, programs close
// descriptors, and forked children keep them open), or when the same pid says hello as another
// image (exec). Its rings are memory of their own and drained to the end then: SIGKILL loses no
// completed record.
//
// Limits: one recvmsg a process and pass, passes 0 to 10 ms apart by load; hundreds of processes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/base/result.h"
#include "src/trace/ring_protocol.h"
#include "src/trace/session.h"

namespace ss::trace {

struct CollectorOptions {
  // Empty = a socket in a new private folder under $TMPDIR. "@name" = abstract.
  std::string socket;
  // In the drain thread, once a process.
  std::function<Sinks(const ProcessInfo&)> make_sinks;
};

struct CollectorStats {
  uint64_t processes = 0;  // ever
  uint64_t rings = 0;      // ever
  uint64_t bytes = 0;      // of records
  uint64_t rejected = 0;   // connections and rings that made no sense
  std::string first_rejection;
};

class Collector {
 public:
  static Result<std::unique_ptr<Collector>> Start(const CollectorOptions& options);
  ~Collector();  // Stop()

  // For STREAMSAN_SOCKET in the environment of the program.
  const std::string& socket_name() const { return socket_name_; }
  // True when no process is left; false after the time-out.
  bool WaitUntilIdle(std::chrono::milliseconds timeout);
  // Drains what there is and ends all sinks; processes that still live drop from here on.
  void Stop();
  CollectorStats stats() const;

 private:
  struct Connection {
    int fd = -1;
    uint32_t peer = 0;  // pid by SO_PEERCRED, 0 = not visible from here
    std::shared_ptr<Session> session;
  };
  struct Watched {
    std::shared_ptr<Session> session;
    int pidfd = -1;
  };

  explicit Collector(const CollectorOptions& options) : options_(options) {}
  Result<void> Listen();
  void Run();
  void Pulse();
  void Wait(int timeout_ms);
  size_t Pass();
  void AcceptAll();
  void ReceiveAll();
  bool Receive(Connection* connection);
  bool Handle(Connection* connection, const Message& message, int fd);
  bool Hello(Connection* connection, const Message& message, int fd);
  bool Ring(Connection* connection, int fd);
  bool Crumbs(Connection* connection, int fd);
  bool Reject(const std::string& why);
  ProcessInfo NameProcess(uint32_t pid, int64_t rank);
  void EndDead();
  void EndWatched(Watched* watched, bool still_alive);
  bool IsDead(const Watched& watched) const;
  int NextTimeout(size_t drained, int last) const;

  CollectorOptions options_;
  std::string socket_name_;
  std::string folder_;  // to remove at the end
  int listen_fd_ = -1;
  int wake_fd_ = -1;
  std::vector<Connection> connections_;  // drain thread only
  std::map<std::string, uint32_t> used_names_;
  mutable std::mutex mutex_;      // guards what follows
  std::vector<Watched> watched_;  // changed by the drain thread only
  CollectorStats stats_;
  std::condition_variable idle_;
  std::atomic<bool> stop_{false};
  std::thread drainer_;
  std::thread pulse_;
};

}  // namespace ss::trace
