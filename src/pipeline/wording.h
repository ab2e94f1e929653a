// Roles in sentences. Only src/pipeline includes this.
#pragma once

#include <string>

namespace ss::pipeline {

// "warps 0-3", or several roles: "warp 8, warp 9".
inline bool IsPlural(const std::string& who) {
  return who.rfind("warps ", 0) == 0 || who.find(", warp") != who.npos;
}

// "warps 0-3 wait", "warp 8 waits".
inline std::string Does(const std::string& who, const std::string& verb) {
  return who + " " + verb + (IsPlural(who) ? "" : "s");
}

}  // namespace ss::pipeline
