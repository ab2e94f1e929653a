// What reports call each nn.Module: its path below the outermost module that it is part of. Python
// says which module is whose child as they are made; a path is put together when it is first asked
// for, by the module's address and without the GIL.
#ifndef STREAMSAN_TORCH_MODULES_H_
#define STREAMSAN_TORCH_MODULES_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "streamsan/annotate.h"

namespace {

class ModuleNames {
 public:
  // 0 = nobody has told of it.
  uint64_t Find(const void* module) {
    uint32_t now = version_.load(std::memory_order_acquire);
    const Table* table = table_.load(std::memory_order_acquire);
    for (size_t at = Start(module, *table);; at = (at + 1) & table->mask) {
      const Entry& entry = table->entries[at];
      const void* key = entry.module.load(std::memory_order_acquire);
      if (!key) return Compose(module);
      if (key != module) continue;
      uint64_t text = entry.text.load(std::memory_order_relaxed);
      return entry.version.load(std::memory_order_acquire) == now ? text : Compose(module);
    }
  }

  // A module at an address that another had before takes its place.
  void Add(const void* module, const char* type) {
    std::lock_guard<std::mutex> guard(lock_);
    modules_[module] = {type, nullptr, ""};
    Changed();
  }

  void SetParent(const void* module, const void* parent, const char* name) {
    std::lock_guard<std::mutex> guard(lock_);
    auto at = modules_.find(module);
    if (at == modules_.end()) return;
    at->second.parent = parent;
    at->second.name = name;
    Changed();
  }

  void Forget(const void* module) {
    std::lock_guard<std::mutex> guard(lock_);
    modules_.erase(module);
    Changed();
  }

 private:
  static constexpr int kDeepest = 100;  // a module may be its own ancestor
  struct Module {
    std::string type;
    const void* parent = nullptr;
    std::string name;  // in the parent
  };
  struct Entry {
    std::atomic<const void*> module{nullptr};
    std::atomic<uint64_t> text{0};
    std::atomic<uint32_t> version{0};  // of all that is told, when the text was put together
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(size) {}
    size_t mask;
    std::vector<Entry> entries;
  };

  static size_t Start(const void* module, const Table& table) {
    return (reinterpret_cast<uintptr_t>(module) >> 4) * 0x9e3779b97f4a7c15 >> 20 & table.mask;
  }

  void Changed() { version_.fetch_add(1, std::memory_order_release); }

  uint64_t Compose(const void* module) {
    std::lock_guard<std::mutex> guard(lock_);
    auto at = modules_.find(module);
    if (at == modules_.end()) return 0;
    std::string path = at->second.name;
    auto up = modules_.find(at->second.parent);
    for (int i = 0; i < kDeepest && up != modules_.end() && up->second.parent; ++i) {
      path.insert(0, up->second.name + ".");
      up = modules_.find(up->second.parent);
    }
    uint64_t text = streamsan_text(path.empty() ? at->second.type.c_str() : path.c_str());
    Keep(module, text);
    return text;
  }

  void Keep(const void* module, uint64_t text) {
    if (2 * (count_ + 1) > table_.load(std::memory_order_relaxed)->mask) Grow();
    Table& table = *table_.load(std::memory_order_relaxed);
    size_t at = Start(module, table);
    const void* key = nullptr;
    for (;; at = (at + 1) & table.mask) {
      key = table.entries[at].module.load(std::memory_order_relaxed);
      if (key == module || !key) break;
    }
    if (!key) ++count_;
    Entry& entry = table.entries[at];
    entry.text.store(text, std::memory_order_relaxed);
    entry.version.store(version_.load(std::memory_order_relaxed), std::memory_order_release);
    entry.module.store(module, std::memory_order_release);
  }

  // Empty: what is asked for comes back. Other threads may still read the old one: it is kept.
  void Grow() {
    count_ = 0;
    table_.store(new Table(2 * (table_.load(std::memory_order_relaxed)->mask + 1)),
                 std::memory_order_release);
  }

  std::mutex lock_;
  std::unordered_map<const void*, Module> modules_;
  std::atomic<uint32_t> version_{1};
  size_t count_ = 0;
  std::atomic<Table*> table_{new Table(1024)};
};

ModuleNames& g_modules = *new ModuleNames;

}  // namespace
#endif  // STREAMSAN_TORCH_MODULES_H_
