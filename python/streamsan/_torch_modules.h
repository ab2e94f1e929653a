// What reports call each nn.Module. Python says it once a module, before its first forward;
// operators look it up by the module's address, without the GIL.
#ifndef STREAMSAN_TORCH_MODULES_H_
#define STREAMSAN_TORCH_MODULES_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace {

class ModuleNames {
 public:
  uint64_t Find(const void* module) const {
    const Table* table = table_.load(std::memory_order_acquire);
    for (size_t at = Start(module, *table);; at = (at + 1) & table->mask) {
      const void* key = table->entries[at].module.load(std::memory_order_acquire);
      if (key == module) return table->entries[at].text.load(std::memory_order_relaxed);
      if (!key) return 0;
    }
  }

  // A module at an address that another had before takes its place.
  void Set(const void* module, uint64_t text) {
    std::lock_guard<std::mutex> guard(lock_);
    if (2 * (count_ + 1) > table_.load(std::memory_order_relaxed)->mask) Grow();
    Put(*table_.load(std::memory_order_relaxed), module, text);
  }

 private:
  struct Entry {
    std::atomic<const void*> module{nullptr};
    std::atomic<uint64_t> text{0};
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), entries(size) {}
    size_t mask;
    std::vector<Entry> entries;
  };

  static size_t Start(const void* module, const Table& table) {
    return (reinterpret_cast<uintptr_t>(module) >> 4) * 0x9e3779b97f4a7c15 >> 20 & table.mask;
  }

  void Put(Table& table, const void* module, uint64_t text) {
    size_t at = Start(module, table);
    for (;; at = (at + 1) & table.mask) {
      const void* key = table.entries[at].module.load(std::memory_order_relaxed);
      if (key == module || !key) break;
    }
    if (!table.entries[at].module.load(std::memory_order_relaxed)) ++count_;
    table.entries[at].text.store(text, std::memory_order_relaxed);
    table.entries[at].module.store(module, std::memory_order_release);
  }

  // Other threads may still read the old one: it is kept.
  void Grow() {
    const Table& old = *table_.load(std::memory_order_relaxed);
    auto* table = new Table(2 * (old.mask + 1));
    count_ = 0;
    for (const Entry& entry : old.entries) {
      const void* module = entry.module.load(std::memory_order_relaxed);
      if (module) Put(*table, module, entry.text.load(std::memory_order_relaxed));
    }
    table_.store(table, std::memory_order_release);
  }

  std::mutex lock_;
  size_t count_ = 0;
  std::atomic<Table*> table_{new Table(1024)};
};

ModuleNames& g_modules = *new ModuleNames;

}  // namespace
#endif  // STREAMSAN_TORCH_MODULES_H_
