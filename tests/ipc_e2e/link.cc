#include <cstring>

#include "cases.h"

namespace {

// A message of one byte, with room for a descriptor.
struct Message {
  Message() {
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

}  // namespace

void Link::SendFile(int file) const {
  Message message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  if (sendmsg(socket_, &message.header, 0) != 1) std::exit(3);
  close(file);
}

int Link::ReceiveFile() const {
  Message message;
  if (recvmsg(socket_, &message.header, 0) != 1) std::exit(3);
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr) std::exit(3);
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  return file;
}

void Give(const Link& link, CUdeviceptr buffer) {
  CUipcMemHandle handle;
  CU(cuIpcGetMemHandle(&handle, buffer));
  link.Send(handle);
}
CUdeviceptr Open(const Link& link) {
  CUdeviceptr at;
  CU(cuIpcOpenMemHandle(&at, link.Receive<CUipcMemHandle>(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  return at;
}
CUevent GiveEvent(const Link& link) {
  CUevent event;
  CUipcEventHandle handle;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  CU(cuIpcGetEventHandle(&handle, event));
  link.Send(handle);
  return event;
}
CUevent OpenEvent(const Link& link) {
  CUevent event;
  CU(cuIpcOpenEventHandle(&event, link.Receive<CUipcEventHandle>()));
  return event;
}
