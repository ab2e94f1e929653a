// The system calls around the collector's socket.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "src/base/result.h"

namespace ss::trace {

struct ListeningSocket {
  int fd = -1;
  std::string name;
  std::string folder;  // made for it, empty otherwise
};

// See CollectorOptions::socket.
Result<ListeningSocket> ListenAt(const std::string& name);
void RemoveSocket(const std::string& name, const std::string& folder);
uint32_t PeerPid(int fd);
bool SameUser(int fd);
// As recvmsg; *fd receives the descriptor that came along, or -1.
ssize_t ReceiveMessage(int socket, void* buffer, size_t bytes, int* fd);

}  // namespace ss::trace
