#include "src/trace/ring_client.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "src/trace/ring_protocol.h"

namespace ss::trace {
namespace {

constexpr int kFirstDescriptor = 600;  // out of the way of programs that count on low numbers

// The socket is identified by inode before each use: programs close "all" descriptors, and the
// number may by now be one of theirs. Ordinary memory on purpose: a forked child closes what it
// inherited.
struct Socket {
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;

  bool Mine() const {
    struct stat now;
    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == device && now.st_ino == inode;
  }
  void Close() {
    if (Mine()) close(fd);
    fd = -1;
  }
  void Adopt(int opened) {
    int high = fcntl(opened, F_DUPFD_CLOEXEC, kFirstDescriptor);
    if (high >= 0) close(opened);
    fd = high >= 0 ? high : opened;
    struct stat now;
    if (fstat(fd, &now) != 0) return;
    device = now.st_dev;
    inode = now.st_ino;
  }
};
Socket g_socket;

int Dial(const char* name, int timeout_seconds) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t length = strlen(name);
  if (length == 0 || length >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  timeval timeout{timeout_seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  int done;
  do {
    done = connect(fd, reinterpret_cast<sockaddr*>(&address), bytes);
  } while (done != 0 && errno == EINTR);
  if (done == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

bool SendWithDescriptor(int socket, const Message& message, int fd) {
  iovec part{const_cast<Message*>(&message), sizeof message};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = space;
    header.msg_controllen = sizeof space;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

uint64_t Nonce() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  auto nanoseconds =
      static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  return nanoseconds << 16 ^ static_cast<uint64_t>(getpid());
}

}  // namespace

RingClient* RingClient::Connect(const char* socket_name, const RingOptions& options) {
  if (!socket_name || strlen(socket_name) >= sizeof(socket_name_)) return errno = EINVAL, nullptr;
  g_socket.Close();  // in a forked child: the parent's
  void* self = MapWipedOnFork(sizeof(RingClient));
  if (!self) return nullptr;
  auto* client = new (self) RingClient();
  client->options_ = options;
  client->nonce_ = Nonce();
  client->next_thread_.store(1);
  strcpy(client->socket_name_, socket_name);
  int control_fd = CreateSharedMemory("streamsan-control", sizeof(ControlPage));
  bool reached = control_fd >= 0 && client->MapControl(control_fd) && client->Reach(control_fd);
  int error = errno;
  if (control_fd >= 0) close(control_fd);
  if (reached) return client;
  if (client->control_) munmap(client->control_, sizeof(ControlPage));
  munmap(self, sizeof(RingClient));
  errno = error;
  return nullptr;
}

bool RingClient::MapControl(int fd) {
  void* page = MapShared(fd, sizeof(ControlPage));
  if (!page) return false;
  KeepFromChildren(page, sizeof(ControlPage));
  control_ = new (page) ControlPage();
  control_->magic = kControlMagic;
  control_->version = kRingVersion;
  control_->pid = static_cast<uint32_t>(getpid());
  control_->next_seq.store(1);
  control_->dead_sleeps.store(kDeadSleeps);
  control_->stuck_sleeps.store(kStuckSleeps);
  return true;
}

// Dials unless the socket is still up. A hello goes first on every connection; one without a
// control page is a reconnection, recognised by its nonce.
bool RingClient::Reach(int control_fd) {
  if (g_socket.Mine()) return true;
  int fd = Dial(socket_name_, kSendTimeoutSeconds);
  if (fd < 0) return false;
  g_socket.Adopt(fd);
  return Send(MessageKind::kHello, 0, control_fd);
}

bool RingClient::Send(MessageKind kind, uint32_t thread, int fd) {
  Message message{kMessageMagic, kRingVersion,  kind,   static_cast<uint32_t>(getpid()),
                  nonce_,        options_.rank, thread, 0};
  return SendWithDescriptor(g_socket.fd, message, fd);
}

RingWriter* RingClient::NewRing() {
  if (!alive()) return errno = ENOTCONN, nullptr;
  int fd = -1;
  RingWriter* writer = RingWriter::Create(options_.ring_bytes, next_thread_.fetch_add(1),
                                          options_.on_full, control_, &fd);
  if (!writer) return nullptr;
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  bool sent = Reach(-1) && Send(MessageKind::kRing, writer->thread(), fd);
  if (!sent && (errno == EPIPE || errno == ECONNRESET)) g_socket.Close();
  int error = errno;
  busy_.clear(std::memory_order_release);
  close(fd);
  if (sent) return writer;
  writer->Destroy();
  errno = error;
  return nullptr;
}

bool RingClient::SendCrumbs(int fd) {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  const bool sent = Reach(-1) && Send(MessageKind::kCrumbs, 0, fd);
  busy_.clear(std::memory_order_release);
  return sent;
}

void RingClient::CountLost(uint64_t records) {
  if (control_) control_->dropped.fetch_add(records, std::memory_order_relaxed);
}

void RingClient::Close() {
  closed_.store(true);
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  g_socket.Close();
  busy_.clear(std::memory_order_release);
}

}  // namespace ss::trace
