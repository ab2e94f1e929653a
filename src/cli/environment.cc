#include "src/cli/environment.h"

#include <charconv>
#include <string_view>

namespace ss {
namespace {

constexpr char kPlace[] = "STREAMSAN_OPTIONS";

constexpr uint64_t kMaxRingMb = 1024;  // as in src/capture/options.cc
constexpr uint64_t kMaxTraceMb = uint64_t{1} << 30;

bool ParseMegabytes(std::string_view text, uint64_t most, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out >= 1 && *out <= most;
}

bool ParseSwitch(std::string_view text, bool* out) {
  if (text != "0" && text != "1") return false;
  *out = text == "1";
  return true;
}

bool ParseSeconds(std::string_view text, uint64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// For values that only the capture library uses.
bool OneOf(std::string_view text, std::string_view a, std::string_view b) {
  return text == a || text == b;
}

// False where the value does not fit the key; *known says whether there is such a key.
bool Set(Environment* environment, std::string_view key, std::string_view value, bool* known) {
  uint64_t megabytes = 0;  // of what only the capture library uses
  bool flag = false;
  *known = true;
  if (key == "disable") return ParseSwitch(value, &environment->disable);
  if (key == "halt_on_error") return ParseSwitch(value, &environment->halt_on_error);
  if (key == "max_trace_mb") return ParseMegabytes(value, kMaxTraceMb, &environment->max_trace_mb);
  if (key == "ring_mb") return ParseMegabytes(value, kMaxRingMb, &megabytes);
  if (key == "stall_seconds") return ParseSeconds(value, &environment->stall_seconds);
  if (key == "on_full") return OneOf(value, "block", "drop");
  if (key == "stacks") return ParseSwitch(value, &flag);
  if (key == "mode") {
    environment->strict = value == "strict";
    return OneOf(value, "strict", "default");
  }
  if (key == "min_confidence") {
    environment->min_confidence = ParseConfidence(std::string(value));
    return environment->min_confidence.has_value();
  }
  *known = false;
  return false;
}

}  // namespace

std::optional<Confidence> ParseConfidence(const std::string& word) {
  for (Confidence c : {Confidence::kPossible, Confidence::kLikely, Confidence::kCertain}) {
    if (word == Name(c)) return c;
  }
  return std::nullopt;
}

Result<Environment> ParseEnvironment(const char* text) {
  Environment environment;
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    std::string_view item = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    if (item.empty()) continue;
    size_t equals = item.find('=');
    std::string_view value = equals == item.npos ? "" : item.substr(equals + 1);
    bool known = false;
    if (Set(&environment, item.substr(0, equals), value, &known)) continue;
    std::string found = "found '" + std::string(item) + "'";
    if (known) return Fail(kPlace, found + ": not a value of this key", "see docs/options.md");
    return Fail(
        kPlace, found,
        "keys: stacks, mode, ring_mb, on_full, max_trace_mb, halt_on_error, min_confidence, "
        "stall_seconds, disable");
  }
  return environment;
}

}  // namespace ss
