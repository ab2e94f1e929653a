// Interned strings: id 0 is the empty string, ids are dense and never reused.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ss {

using StringId = uint32_t;

class StringTable {
 public:
  StringTable() { Intern(""); }
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  StringTable(StringTable&&) = default;  // a moved deque keeps its nodes, so the views stay valid
  StringTable& operator=(StringTable&&) = default;

  StringId Intern(std::string_view text);
  const std::string& Get(StringId id) const { return strings_[id]; }
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;  // a deque: views handed out and the index stay valid
  std::unordered_map<std::string_view, StringId> index_;
};

}  // namespace ss
