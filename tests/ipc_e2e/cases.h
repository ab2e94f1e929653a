// What the cases share, and those of shareable handles.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/graphs_e2e/gpu.h"
#include "vgpu/kernel.h"

class Link {
 public:
  explicit Link(int socket) : socket_(socket) {}
  template <typename T>
  void Send(const T& value) const {
    if (write(socket_, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::exit(3);
  }
  template <typename T>
  T Receive() const {
    T value;
    auto* to = reinterpret_cast<char*>(&value);
    for (size_t got = 0; got < sizeof value;) {
      const ssize_t more = read(socket_, to + got, sizeof value - got);
      if (more <= 0) std::exit(3);
      got += static_cast<size_t>(more);
    }
    return value;
  }
  void Tell() const { Send('x'); }
  void Hear() const { Receive<char>(); }
  void HearTheEnd() const {
    char none;
    if (read(socket_, &none, 1) != 0) std::exit(3);
  }
  void SendFile(int file) const;
  int ReceiveFile() const;

 private:
  int socket_;
};

void Give(const Link& link, CUdeviceptr buffer);
CUdeviceptr Open(const Link& link);
CUevent GiveEvent(const Link& link);
CUevent OpenEvent(const Link& link);
bool MappedOwner(const Gpu& gpu, const Link& link, Way way);
bool MappedUser(const Gpu& gpu, const Link& link, Way way);
bool PiecesOwner(const Gpu& gpu, const Link& link, Way way);
bool PiecesUser(const Gpu& gpu, const Link& link, Way way);
bool UnmappedOwner(const Gpu& gpu, const Link& link, Way way);
bool UnmappedUser(const Gpu& gpu, const Link& link, Way way);
bool PoolOwner(const Gpu& gpu, const Link& link, Way way);
bool PoolUser(const Gpu& gpu, const Link& link, Way way);
bool ReturnedOwner(const Gpu& gpu, const Link& link, Way way);
bool ReturnedUser(const Gpu& gpu, const Link& link, Way way);
