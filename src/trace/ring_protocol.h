// What a process says on the collector's socket (SOCK_SEQPACKET, one struct a message, descriptors
// beside it as SCM_RIGHTS). Nothing is ever answered: the collector speaks through the control page
// alone, so the watched program never waits for it here.
//
//   process                                             collector
//   connect(STREAMSAN_SOCKET)
//   Hello + control page memfd                    -->   maps it, starts the pulse
//   Crumbs + table memfd, where it is asked for   -->   maps it
//   Ring + ring memfd, at each thread's first use -->   maps it, drains it
//   (hang-up, or its death seen through a pidfd)  -->   drains what is left, ends the process
#pragma once

#include <cstdint>

namespace ss::trace {

constexpr char kSocketVariable[] =
    "STREAMSAN_SOCKET";                         // a path, or @name for the abstract namespace
constexpr uint32_t kMessageMagic = 0x314d5353;  // "SSM1"

enum class MessageKind : uint32_t { kHello = 1, kRing = 2, kCrumbs = 3 };

struct Message {
  uint32_t magic;
  uint32_t version;  // kRingVersion
  MessageKind kind;
  uint32_t pid;     // as the process sees itself; the collector identifies it by SO_PEERCRED
  uint64_t nonce;   // one a process image: exec draws a new one, a reconnection keeps it
  int64_t rank;     // hello: -1 = not stated
  uint32_t thread;  // ring
  uint32_t reserved;
};
static_assert(sizeof(Message) == 40);

}  // namespace ss::trace
