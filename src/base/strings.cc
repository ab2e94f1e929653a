#include "src/base/strings.h"

namespace ss {

StringId StringTable::Intern(std::string_view text) {
  if (auto found = index_.find(text); found != index_.end()) return found->second;
  StringId id = static_cast<StringId>(strings_.size());
  index_.emplace(strings_.emplace_back(text), id);
  return id;
}

}  // namespace ss
