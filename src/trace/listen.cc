#include "src/trace/listen.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace ss::trace {
namespace {

constexpr int kBacklog = 1024;  // all ranks of a node may say hello at once

Result<std::string> PrivateFolder() {
  const char* base = getenv("TMPDIR");
  // sun_path has 108 bytes: a long TMPDIR does not fit.
  std::string folder = base && *base && strlen(base) < 70 ? base : "/tmp";
  folder += "/streamsan.XXXXXX";
  if (mkdtemp(folder.data())) return folder;  // mode 0700: nobody else can connect
  return Fail(folder, fmt::format("cannot create a folder for the socket: {}", strerror(errno)),
              "set TMPDIR to a folder that can be written");
}

tl::unexpected<Error> SocketFailure(const std::string& name, int fd) {
  int error = errno;
  if (fd >= 0) close(fd);
  return Fail(name, fmt::format("cannot listen: {}", strerror(error)),
              "another `streamsan run` may use this socket; unset STREAMSAN_SOCKET");
}

}  // namespace

Result<ListeningSocket> ListenAt(const std::string& name) {
  ListeningSocket place;
  place.name = name;
  if (name.empty()) {
    auto folder = PrivateFolder();
    if (!folder) return tl::unexpected(folder.error());
    place.folder = *folder;
    place.name = *folder + "/socket";
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (place.name.size() >= sizeof address.sun_path) {
    return Fail(place.name, "the socket's name is too long", "use fewer than 108 characters");
  }
  memcpy(address.sun_path, place.name.data(), place.name.size());
  if (place.name[0] == '@') address.sun_path[0] = 0;
  auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.name.size());
  place.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (place.fd < 0 || bind(place.fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(place.fd, kBacklog) != 0) {
    return SocketFailure(place.name, place.fd);
  }
  return place;
}

void RemoveSocket(const std::string& name, const std::string& folder) {
  if (!name.empty() && name[0] != '@') unlink(name.c_str());
  if (!folder.empty()) rmdir(folder.c_str());
}

uint32_t PeerPid(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid < 0) return 0;
  return static_cast<uint32_t>(peer.pid);
}

bool SameUser(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

ssize_t ReceiveMessage(int socket, void* buffer, size_t bytes, int* fd) {
  iovec part{buffer, bytes};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = space;
  header.msg_controllen = sizeof space;
  *fd = -1;
  ssize_t got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    memcpy(fd, CMSG_DATA(rights), sizeof *fd);
  }
  return got;
}

}  // namespace ss::trace
