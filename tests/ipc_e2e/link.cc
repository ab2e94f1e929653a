#include "cases.h"
#include "tests/gpu/descriptor.h"

void Link::SendFile(int file) const {
  if (!SendDescriptor(socket_, file)) std::exit(3);
  close(file);
}

int Link::ReceiveFile() const {
  const int file = ReceiveDescriptor(socket_);
  if (file < 0) std::exit(3);
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
