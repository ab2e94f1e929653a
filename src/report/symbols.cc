#include "src/report/symbols.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "src/report/images.h"

namespace ss {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Between the program and the driver: never what a reader looks for.
bool IsPlumbing(const Frame& frame) {
  static constexpr std::array kPrefixes = {"libcuda.", "libcudart", "libstreamsan_capture",
                                           "libc10_cuda"};
  std::string_view name = BaseName(frame.module);
  for (std::string_view prefix : kPrefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

}  // namespace

Symboliser::Symboliser() : spaces_(1), images_(std::make_unique<ImageCache>()) {}
Symboliser::~Symboliser() = default;

void Symboliser::AddModule(ModuleMap module) {
  uint64_t begin = module.begin;
  spaces_.back()[begin] = std::move(module);
}

void Symboliser::AddStack(StackId stack, std::vector<uint64_t> addresses) {
  raw_[stack] = Raw{spaces_.size() - 1, std::move(addresses)};
  resolved_.erase(stack);
}

Frame Symboliser::Resolve(const Space& space, uint64_t address) {
  auto after = space.upper_bound(address);
  if (after != space.begin()) {
    const ModuleMap& module = std::prev(after)->second;
    if (address < module.end) {
      return images_->Lookup(module.path, module.build_id, address - module.bias);
    }
  }
  Frame unknown;
  unknown.offset = address;
  return unknown;
}

const std::vector<Frame>& Symboliser::Frames(StackId stack) {
  auto [at, fresh] = resolved_.try_emplace(stack);
  auto raw = raw_.find(stack);
  if (!fresh || raw == raw_.end()) return at->second;
  for (uint64_t address : raw->second.addresses) {
    at->second.push_back(Resolve(spaces_[raw->second.space], address));
  }
  return at->second;
}

const Frame* SiteOf(const std::vector<Frame>& frames) {
  const Frame* without_line = nullptr;
  for (const Frame& frame : frames) {
    if (IsPlumbing(frame)) continue;
    if (!frame.file.empty()) return &frame;
    if (!without_line) without_line = &frame;
  }
  return without_line ? without_line : frames.empty() ? nullptr : &frames.front();
}

std::string ShortText(const Frame& frame) {
  if (!frame.file.empty()) return fmt::format("{}:{}", BaseName(frame.file), frame.line);
  if (!frame.module.empty()) {
    return fmt::format("{}+0x{:x}", BaseName(frame.module), frame.offset);
  }
  return frame.offset ? fmt::format("0x{:x}", frame.offset) : std::string();
}

}  // namespace ss
