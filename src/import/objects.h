// Lives of contexts, streams and events: which raw handle means which one at this moment.
//
// Real stream and event handles are unique in a process while they live, so that the handle alone
// is the key; the context that a record states is the current one and need not be the stream's. The
// special handles are one stream a context (0x1, 0x3) or one a context and thread (0x2).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/program/op.h"

namespace ss {

constexpr uint64_t kLegacyHandle = 1;
constexpr uint64_t kPerThreadHandle = 2;
constexpr uint64_t kWholeHandle = 3;  // no stream of the driver's: all those of a context (rule 15)
inline uint64_t ResolvedHandle(uint64_t stream) { return stream == 0 ? kLegacyHandle : stream; }

struct ContextLife {
  uint64_t handle = 0;
  uint32_t id = 0;  // dense
  uint32_t device = 0;
  uint32_t primary = 0;      // of a green context: `id` of the one that includes it + 1
  uint64_t memory_home = 0;  // handle of the context that memory belongs to: a green one has none
};

struct StreamLife {
  StreamId id = 0;
  StreamType type{};
  ContextLife context;
  uint64_t handle = 0;
  StringId name = 0;
};

struct EventLife {
  EventId id = 0;
  uint64_t context = 0;  // raw handle
};

class Contexts {
 public:
  // `known` is false if it had to be made up.
  const ContextLife& Get(uint64_t handle, bool* known);
  // `primary`: of a green context.
  const ContextLife& Create(uint64_t handle, uint64_t device, const ContextLife* primary = nullptr);
  bool IsGreen(uint64_t handle) const {
    auto it = lives_.find(handle);
    return it != lives_.end() && it->second.primary != 0;
  }
  bool Destroy(uint64_t handle) { return lives_.erase(handle) != 0; }

 private:
  std::unordered_map<uint64_t, ContextLife> lives_;
  uint32_t made_ = 0;
};

class Streams {
 public:
  // Null if there is none yet. `thread` matters for 0x2 only. The pointer holds until Remove.
  StreamLife* Find(uint64_t handle, uint64_t context, uint32_t thread);
  // Replaces what the handle meant before.
  StreamLife& Create(uint64_t handle, const ContextLife& context, uint32_t thread, StreamType type);
  void Remove(uint64_t handle, uint64_t context, uint32_t thread);
  // Removes all streams of a context or all per-thread streams of a thread, and gives their ids,
  // ascending.
  std::vector<StreamId> RemoveContext(uint64_t context);
  std::vector<StreamId> RemoveThread(uint32_t thread);
  bool Lives(StreamId id) const;        // looks at all of them
  StreamId Fresh() { return ++made_; }  // no handle of the program's means it
  StreamId last() const { return made_; }

 private:
  struct Key {
    uint64_t handle = 0, context = 0;
    uint32_t thread = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (key.handle ^ (key.context + key.thread) * 0x9E3779B97F4A7C15u) *
                 0xff51afd7ed558ccdu >>
             16;
    }
  };
  static Key KeyOf(uint64_t handle, uint64_t context, uint32_t thread);
  template <typename Match>
  std::vector<StreamId> RemoveIf(Match match);

  std::unordered_map<Key, StreamLife, Hash> lives_;
  StreamId made_ = 0;
};

class Events {
 public:
  EventId Find(uint64_t handle) const {
    auto it = lives_.find(handle);
    return it == lives_.end() ? 0 : it->second.id;
  }
  EventId Create(uint64_t handle, uint64_t context);
  EventId Fresh() { return ++made_; }  // no handle of the program's means it
  EventId Remove(uint64_t handle);     // 0 = there was none
  std::vector<EventId> RemoveContext(uint64_t context);

 private:
  std::unordered_map<uint64_t, EventLife> lives_;
  EventId made_ = 0;
};

}  // namespace ss
