// Result<T>: a value or a located error. Errors are data; nothing in src/ throws across a folder.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ss {

// What went wrong, where, and what to do about it. `place` is FILE, FILE:L:C or FILE@byte N.
struct Error {
  std::string place;
  std::string message;
  std::string remedy;

  std::string Text() const {
    std::string text = place.empty() ? message : place + ": " + message;
    return remedy.empty() ? text : text + " (" + remedy + ")";
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(std::string place, std::string message, std::string remedy = {}) {
  return tl::unexpected<Error>(Error{std::move(place), std::move(message), std::move(remedy)});
}

}  // namespace ss
