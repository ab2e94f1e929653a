#include "src/report/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "src/report/images.h"

namespace ss {
namespace {

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

template <size_t N>
bool BeginsWithOneOf(std::string_view text, const std::array<std::string_view, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto prefix) { return text.substr(0, prefix.size()) == prefix; });
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool SameLine(const Frame& a, const Frame& b) {
  return a.file == b.file && a.line == b.line && (!a.file.empty() || a.offset == b.offset);
}

bool InOneOf(const Frame& frame, const std::vector<const std::vector<Frame>*>& stacks) {
  return std::any_of(stacks.begin(), stacks.end(), [&](const std::vector<Frame>* stack) {
    return std::any_of(stack->begin(), stack->end(),
                       [&](const Frame& other) { return SameLine(frame, other); });
  });
}

// Behind the outermost function of NCCL's: one that is linked into the program has its own lines.
size_t BehindNccl(const std::vector<Frame>& frames) {
  for (size_t i = frames.size(); i > 0; --i) {
    std::string_view name = frames[i - 1].fn;
    if (name.starts_with('p')) name.remove_prefix(1);
    const bool nccl = name.starts_with("nccl") && name.size() > 4 && std::isupper(name[4]);
    if (nccl) return i < frames.size() ? i : 0;
  }
  return 0;
}

}  // namespace

Symboliser::Symboliser() : spaces_(1), images_(std::make_unique<ImageCache>()) {}
Symboliser::~Symboliser() = default;

void Symboliser::AddModule(ModuleMap module) {
  uint64_t begin = module.begin;
  spaces_.back()[begin] = std::move(module);
}

void Symboliser::AddStack(StackId stack, std::vector<uint64_t> addresses) {
  AddStack(stack, {}, std::move(addresses));
}

void Symboliser::AddStack(StackId stack, std::vector<Frame> front,
                          std::vector<uint64_t> addresses) {
  raw_[stack] = Raw{spaces_.size() - 1, std::move(addresses), std::move(front)};
  resolved_.erase(stack);
}

void Symboliser::Resolve(const Space& space, uint64_t address, std::vector<Frame>& frames) {
  auto after = space.upper_bound(address);
  const ModuleMap* module = after == space.begin() ? nullptr : &std::prev(after)->second;
  if (module && address < module->end) {
    const auto& found = images_->Lookup(module->path, module->build_id, address - module->bias);
    frames.insert(frames.end(), found.begin(), found.end());
  } else {
    frames.push_back({"", "", 0, "", address});
  }
}

const std::vector<Frame>& Symboliser::Frames(StackId stack) {
  auto [at, fresh] = resolved_.try_emplace(stack);
  auto raw = raw_.find(stack);
  if (!fresh || raw == raw_.end()) return at->second;
  at->second = raw->second.front;
  for (uint64_t address : raw->second.addresses) {
    Resolve(spaces_[raw->second.space], address, at->second);
  }
  return at->second;
}

bool IsProgramFrame(const Frame& frame) {
  static constexpr std::array<std::string_view, 4> kModules = {
      "libcuda.", "libcudart", "libstreamsan_capture", "libc10_cuda"};
  static constexpr std::array<std::string_view, 3> kStart = {"__libc_start", "_start", "__clone"};
  // The library that the Python package builds for an installed PyTorch (_build_helper.py).
  if (frame.module.find("/streamsan/torch-") != std::string::npos) return false;
  return !BeginsWithOneOf(BaseName(frame.module), kModules) && !BeginsWithOneOf(frame.fn, kStart) &&
         !EndsWith(frame.file, "streamsan/annotate.h");
}

const Frame* SiteOf(const std::vector<Frame>& frames,
                    const std::vector<const std::vector<Frame>*>& others) {
  const Frame *without_line = nullptr, *shared = nullptr;
  for (size_t i = BehindNccl(frames); i < frames.size(); ++i) {
    const Frame& frame = frames[i];
    if (!IsProgramFrame(frame)) continue;
    if (frame.file.empty()) {
      if (!without_line) without_line = &frame;
    } else if (!InOneOf(frame, others)) {
      return &frame;
    } else if (!shared) {
      shared = &frame;
    }
  }
  if (shared) return shared;
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
