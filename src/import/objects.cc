#include "src/import/objects.h"

#include <algorithm>

namespace ss {

const ContextLife& Contexts::Get(uint64_t handle, bool* known) {
  auto it = lives_.find(handle);
  *known = it != lives_.end();
  return *known ? it->second : Create(handle, 0);
}

const ContextLife& Contexts::Create(uint64_t handle, uint64_t device, const ContextLife* primary) {
  ContextLife life = {handle, made_++, static_cast<uint32_t>(device), 0, handle};
  if (primary != nullptr) {
    life.primary = primary->id + 1;
    life.memory_home = primary->handle;
  }
  return lives_[handle] = life;
}

Streams::Key Streams::KeyOf(uint64_t handle, uint64_t context, uint32_t thread) {
  if (handle == kPerThreadHandle) return {handle, context, thread};
  return {handle, handle == kLegacyHandle || handle == kWholeHandle ? context : 0, 0};
}

StreamLife* Streams::Find(uint64_t handle, uint64_t context, uint32_t thread) {
  auto it = lives_.find(KeyOf(handle, context, thread));
  return it == lives_.end() ? nullptr : &it->second;
}

StreamLife& Streams::Create(uint64_t handle, const ContextLife& context, uint32_t thread,
                            StreamType type) {
  StreamLife& life = lives_[KeyOf(handle, context.handle, thread)];
  life = {++made_, type, context, handle, 0};
  return life;
}

bool Streams::Lives(StreamId id) const {
  return std::any_of(lives_.begin(), lives_.end(),
                     [&](const auto& entry) { return entry.second.id == id; });
}

void Streams::Remove(uint64_t handle, uint64_t context, uint32_t thread) {
  lives_.erase(KeyOf(handle, context, thread));
}

template <typename Match>
std::vector<StreamId> Streams::RemoveIf(Match match) {
  std::vector<StreamId> removed;
  for (auto it = lives_.begin(); it != lives_.end();) {
    if (match(it->first, it->second)) {
      removed.push_back(it->second.id);
      it = lives_.erase(it);
    } else {
      ++it;
    }
  }
  std::sort(removed.begin(), removed.end());  // the table's order depends on addresses
  return removed;
}

std::vector<StreamId> Streams::RemoveContext(uint64_t context) {
  return RemoveIf(
      [&](const Key&, const StreamLife& life) { return life.context.handle == context; });
}

std::vector<StreamId> Streams::RemoveThread(uint32_t thread) {
  return RemoveIf([&](const Key& key, const StreamLife&) {
    return key.handle == kPerThreadHandle && key.thread == thread;
  });
}

EventId Events::Create(uint64_t handle, uint64_t context) {
  lives_[handle] = {++made_, context};
  return made_;
}

EventId Events::Remove(uint64_t handle) {
  auto it = lives_.find(handle);
  if (it == lives_.end()) return 0;
  const EventId id = it->second.id;
  lives_.erase(it);
  return id;
}

std::vector<EventId> Events::RemoveContext(uint64_t context) {
  std::vector<EventId> removed;
  for (auto it = lives_.begin(); it != lives_.end();) {
    if (it->second.context != context) {
      ++it;
      continue;
    }
    removed.push_back(it->second.id);
    it = lives_.erase(it);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace ss
