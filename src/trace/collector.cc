#include "src/trace/collector.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/trace/listen.h"

namespace ss::trace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLongestPauseMs = 10;  // a 4 MiB ring at 200 MB/s fills in 20 ms
constexpr size_t kBusyBytes = 64 << 10;
constexpr auto kTick = std::chrono::milliseconds(200);
constexpr auto kBeat = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<Collector>> Collector::Start(const CollectorOptions& options) {
  std::unique_ptr<Collector> collector(new Collector(options));
  if (auto done = collector->Listen(); !done) return tl::unexpected(done.error());
  collector->drainer_ = std::thread([raw = collector.get()] { raw->Run(); });
  collector->pulse_ = std::thread([raw = collector.get()] { raw->Pulse(); });
  return collector;
}

Result<void> Collector::Listen() {
  auto place = ListenAt(options_.socket);
  if (!place) return tl::unexpected(place.error());
  socket_name_ = place->name;
  folder_ = place->folder;
  listen_fd_ = place->fd;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return {};
}

Collector::~Collector() { Stop(); }

void Collector::Stop() {
  if (stop_.exchange(true)) return;
  uint64_t one = 1;
  if (wake_fd_ >= 0 && write(wake_fd_, &one, sizeof one) < 0) {
    // Only fails when the counter is full, that is, when it is awake anyway.
  }
  if (drainer_.joinable()) drainer_.join();
  idle_.notify_all();
  if (pulse_.joinable()) pulse_.join();
  for (Connection& connection : connections_) close(connection.fd);
  if (listen_fd_ >= 0) close(listen_fd_);
  if (wake_fd_ >= 0) close(wake_fd_);
  RemoveSocket(socket_name_, folder_);
}

bool Collector::WaitUntilIdle(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [this] { return watched_.empty(); });
}

CollectorStats Collector::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

// Apart from the drain thread: a sink that works for a second must not look like a dead drainer.
void Collector::Pulse() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    for (Watched& watched : watched_) watched.session->Beat();
    idle_.wait_for(lock, kBeat, [this] { return stop_.load(); });
  }
}

void Collector::Run() {
  int pause = -1;
  auto last_tick = Clock::now();
  while (!stop_) {
    Wait(pause);
    size_t drained = Pass();
    EndDead();
    pause = NextTimeout(drained, pause);
    if (Clock::now() - last_tick < kTick) continue;
    for (Watched& watched : watched_) watched.session->Tick();
    last_tick = Clock::now();
  }
  Pass();
  EndDead();
  while (!watched_.empty()) EndWatched(&watched_.back(), true);
}

int Collector::NextTimeout(size_t drained, int last) const {
  if (watched_.empty()) return connections_.empty() ? -1 : kLongestPauseMs;
  if (drained >= kBusyBytes) return 0;
  if (drained > 0 || last < 0) return 1;
  return std::min(std::max(last, 1) * 2, kLongestPauseMs);
}

void Collector::Wait(int timeout_ms) {
  std::vector<pollfd> fds = {{listen_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  for (const Connection& connection : connections_) fds.push_back({connection.fd, POLLIN, 0});
  for (const Watched& watched : watched_) fds.push_back({watched.pidfd, POLLIN, 0});
  poll(fds.data(), fds.size(), timeout_ms);
}

size_t Collector::Pass() {
  std::vector<std::pair<std::shared_ptr<Session>, uint64_t>> sessions;
  for (Watched& watched : watched_) {
    sessions.emplace_back(watched.session, watched.session->Counter());  // before the sockets
  }
  AcceptAll();
  ReceiveAll();  // may end one of them
  size_t drained = 0;
  for (auto& [session, counter] : sessions) drained += session->Drain(counter);
  std::lock_guard lock(mutex_);
  stats_.bytes += drained;
  return drained;
}

void Collector::AcceptAll() {
  for (;;) {
    int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (socket_name_[0] == '@' && !SameUser(fd)) {  // a path is guarded by its folder's mode
      Reject("a connection of another user");
      close(fd);
      continue;
    }
    connections_.push_back({fd, PeerPid(fd), nullptr});
  }
}

void Collector::ReceiveAll() {
  for (Connection& connection : connections_) {
    while (Receive(&connection)) {
    }
  }
  std::erase_if(connections_, [](const Connection& connection) { return connection.fd < 0; });
}

// False when there is nothing more for now, or the connection is closed (fd -1).
bool Collector::Receive(Connection* connection) {
  Message message{};
  int fd = -1;
  ssize_t bytes = ReceiveMessage(connection->fd, &message, sizeof message, &fd);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  bool good = bytes == sizeof message && message.magic == kMessageMagic;
  if (bytes > 0 && !good) Reject("a message that is not the capture library's");
  if (!good && fd >= 0) close(fd);
  if (good && Handle(connection, message, fd)) return true;
  close(connection->fd);
  connection->fd = -1;
  return false;
}

bool Collector::Handle(Connection* connection, const Message& message, int fd) {
  if (message.version == kRingVersion) {
    if (message.kind == MessageKind::kHello) return Hello(connection, message, fd);
    if (message.kind == MessageKind::kRing && connection->session) return Ring(connection, fd);
    if (message.kind == MessageKind::kCrumbs && connection->session) return Crumbs(connection, fd);
  }
  if (fd >= 0) close(fd);
  return Reject(fmt::format("protocol version {} (this is {}), message {}", message.version,
                            kRingVersion, static_cast<uint32_t>(message.kind)));
}

bool Collector::Hello(Connection* connection, const Message& message, int fd) {
  uint32_t pid = connection->peer ? connection->peer : message.pid;
  for (Watched& watched : watched_) {
    if (watched.session->info().pid != pid) continue;
    if (watched.session->nonce() == message.nonce) {  // it had lost its socket
      if (fd >= 0) close(fd);
      connection->session = watched.session;
      return true;
    }
    EndWatched(&watched, false);  // exec: the image before is over
    break;
  }
  ControlPage* control = fd >= 0 ? MapControlPage(fd) : nullptr;
  if (!control) return Reject(fmt::format("process {} sent no control page", pid));
  ProcessInfo info = NameProcess(pid, message.rank);
  auto session = std::make_shared<Session>(info, message.nonce, control, options_.make_sinks(info));
  int pidfd = connection->peer ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  connection->session = session;
  std::lock_guard lock(mutex_);
  watched_.push_back({session, pidfd});
  ++stats_.processes;
  return true;
}

bool Collector::Ring(Connection* connection, int fd) {
  auto ring = fd >= 0 ? RingReader::Map(fd) : Fail("ring", "a ring without a descriptor");
  if (!ring) return Reject(ring.error().Text()), true;  // its process may have others
  connection->session->AddRing(std::move(*ring));
  std::lock_guard lock(mutex_);
  ++stats_.rings;
  return true;
}

bool Collector::Crumbs(Connection* connection, int fd) {
  auto crumbs = fd >= 0 ? MapCrumbs(fd) : nullptr;
  if (!crumbs) return Reject("breadcrumbs that are none"), true;  // its rings may be whole
  connection->session->AddCrumbs(crumbs);
  return true;
}

bool Collector::Reject(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (stats_.rejected++ == 0) stats_.first_rejection = why;
  return false;
}

ProcessInfo Collector::NameProcess(uint32_t pid, int64_t rank) {
  ProcessInfo info{pid, rank, 0};
  std::string key = rank >= 0 ? fmt::format("rank {}", rank) : fmt::format("pid {}", pid);
  info.exec_number = used_names_[key]++;
  return info;
}

bool Collector::IsDead(const Watched& watched) const {
  if (watched.pidfd >= 0) {
    pollfd dead{watched.pidfd, POLLIN, 0};
    return poll(&dead, 1, 0) > 0;
  }
  // No pidfd (it was dead already, or lives in another pid namespace): the hang-up decides.
  return std::none_of(connections_.begin(), connections_.end(), [&](const Connection& connection) {
    return connection.session == watched.session;
  });
}

void Collector::EndDead() {
  std::vector<std::shared_ptr<Session>> dead;
  for (Watched& watched : watched_) {
    if (IsDead(watched)) dead.push_back(watched.session);
  }
  if (dead.empty()) return;
  AcceptAll();  // what they had said before they died
  ReceiveAll();
  for (const auto& session : dead) {
    auto at = std::find_if(watched_.begin(), watched_.end(),
                           [&](const Watched& watched) { return watched.session == session; });
    if (at != watched_.end()) EndWatched(&*at, false);
  }
}

void Collector::EndWatched(Watched* watched, bool still_alive) {
  watched->session->Finish(still_alive);
  for (Connection& connection : connections_) {
    if (connection.session == watched->session) connection.session = nullptr;
  }
  if (watched->pidfd >= 0) close(watched->pidfd);
  std::lock_guard lock(mutex_);
  watched_.erase(watched_.begin() + (watched - watched_.data()));
  if (watched_.empty()) idle_.notify_all();
}

}  // namespace ss::trace
