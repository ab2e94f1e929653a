// Text line by line: the base of whatever prints a report for people.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace ss {

class Lines {
 protected:
  // Without the blanks at the line's end, which columns leave.
  template <typename... T>
  void Line(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
  }

  std::string out_;
};

}  // namespace ss
