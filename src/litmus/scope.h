// The names of a litmus file: what each stands for, one scope a rank.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/program/op.h"

namespace ss::litmus {

struct Stream {
  StreamId id = 0;
  StreamType type = StreamType::kNonBlocking;
  uint32_t device = 0;
  uint32_t ended_line = 0;  // of `destroy`; 0 = it lives
  uint32_t context = 0;     // its number: of a device's primary one the device's
  bool green = false;
};

// One tenancy of a range; the bytes that views and buffer names stand for.
struct Storage {
  BufferId id = 0;
  uint64_t begin = 0, end = 0;
  MemoryKind memory = MemoryKind::kUnknown;
  StreamId owner = 0;
  uint32_t line = 0;
  uint32_t freed_line = 0;  // 0 = live
  uint32_t taken_line = 0;  // of the `reuse` that got the range, 0 = none
  bool reserved = false;    // addresses only: what is mapped there is another storage
  bool carved = false;      // mapped: blocks of an allocator were cut from it
  bool placed = false;      // such a block
};

// What cuMemCreate makes. The first mapping says how much it is.
struct Physical {
  uint64_t bytes = 0;
  uint32_t device = 0;
  size_t storage = 0;  // of its latest mapping; 0 = none, as the first storage is its range's
};

// A buffer's or view's name: bytes of a storage.
struct Buffer {
  size_t storage = 0;  // index into Parser's storages
  uint64_t begin = 0, end = 0;
  bool view = false;
};

struct RankScope {
  uint32_t rank = 0;
  HostId main = 0;
  uint64_t next_address = 0;
  std::map<std::string, HostId> hosts;
  std::map<std::string, Stream> streams;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, Physical> physical;
  std::map<std::string, uint32_t> graphs;
  std::set<std::string> labels;

  bool IsLane(const std::string& name) const {
    return hosts.count(name) || streams.count(name) || graphs.count(name);
  }
  // What a name that was declared is, for people; empty where none was.
  std::string KindOf(const std::string& name) const {
    if (auto stream = streams.find(name); stream != streams.end())
      return stream->second.type == StreamType::kContext ? "context" : "stream";
    if (hosts.count(name)) return "host thread";
    if (graphs.count(name)) return "graph";
    if (buffers.count(name)) return "buffer";
    return physical.count(name) ? "physical memory" : "";
  }
};

// The first buffer of each name in each rank, for `A@N` that stands above rank N's section.
struct PeerBuffer {
  uint64_t begin = 0, end = 0;
  MemoryKind memory = MemoryKind::kUnknown;
};
using PeerTable = std::map<std::pair<uint32_t, std::string>, PeerBuffer>;

}  // namespace ss::litmus
