// What a trace defines once and refers to by number: strings, call stacks, mapped images, the
// process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/strings.h"
#include "src/program/op.h"
#include "src/trace/record.h"

namespace ss {

struct ProcessInfo {
  uint64_t pid = 0, parent = 0;
  uint64_t start_ns = 0;  // CLOCK_REALTIME
  std::vector<std::string> command;
  int64_t rank = -1;  // -1 = not stated
  bool late = false;
  uint64_t driver_version = 0;
  bool ended = false;            // an orderly end was recorded
  uint64_t ended_ns = 0;         // by the clock of Time records; 0 = not known
  std::vector<uint64_t> forked;  // children's process ids
  std::vector<trace::Trial> trials;
};

using Image = trace::Module;

// Return addresses by stack id, innermost first, in one flat array.
class StackTable {
 public:
  void Add(StackId id, std::span<const uint64_t> addresses) {
    Range& range = ranges_[id];
    range = {addresses_.size(), addresses.size()};
    addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  }
  // Empty for an id that the trace has not defined.
  std::span<const uint64_t> Get(StackId id) const {
    auto it = ranges_.find(id);
    if (it == ranges_.end()) return {};
    return std::span(addresses_).subspan(it->second.begin, it->second.count);
  }
  template <typename Visit>  // visit(StackId, std::span<const uint64_t>)
  void ForEach(Visit visit) const {
    for (const auto& [id, range] : ranges_) visit(id, Get(id));
  }
  size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    size_t begin = 0, count = 0;
  };
  std::vector<uint64_t> addresses_;
  std::unordered_map<StackId, Range> ranges_;
};

// Trace-local text ids -> interned strings. Not an array: the ids of a damaged trace may be
// anything.
class TextTable {
 public:
  explicit TextTable(StringTable& strings) : strings_(strings) {}
  void Add(uint64_t text_id, const std::string& text) { ids_[text_id] = strings_.Intern(text); }
  // 0 for a text that has not been defined (yet: another thread may define it a moment later).
  StringId Get(uint64_t text_id) const {
    auto it = ids_.find(text_id);
    return it == ids_.end() ? 0 : it->second;
  }

 private:
  StringTable& strings_;
  std::unordered_map<uint64_t, StringId> ids_;
};

// Raw handles -> dense numbers in first-seen order, from 0.
class DenseIds {
 public:
  uint32_t Get(uint64_t raw) {
    return ids_.try_emplace(raw, static_cast<uint32_t>(ids_.size())).first->second;
  }

  const std::unordered_map<uint64_t, uint32_t>& all() const { return ids_; }

 private:
  std::unordered_map<uint64_t, uint32_t> ids_;
};

}  // namespace ss
