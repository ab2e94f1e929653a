// A file descriptor over a Unix socket, with a byte of its own.
#pragma once

#include <sys/socket.h>

#include <cstring>

struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &io;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
  }
  char byte = 'f';
  iovec io = {&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
};

inline bool SendDescriptor(int socket, int file) {
  DescriptorMessage message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  return sendmsg(socket, &message.header, 0) == 1;
}

// Negative: none came.
inline int ReceiveDescriptor(int socket) {
  DescriptorMessage message;
  int file = -1;
  if (recvmsg(socket, &message.header, 0) != 1) return file;
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control != nullptr) std::memcpy(&file, CMSG_DATA(control), sizeof file);
  return file;
}
