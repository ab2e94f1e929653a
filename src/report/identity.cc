#include "src/report/identity.h"

#include <fmt/format.h>

#include <string_view>

namespace ss {
namespace {

class Hash {
 public:
  void Add(std::string_view text) {
    for (unsigned char c : text) Byte(c);
    Byte(0);
  }
  std::string Text() const { return fmt::format("{:016x}", hash_); }

 private:
  void Byte(unsigned char c) { hash_ = (hash_ ^ c) * 0x100000001b3; }  // FNV-1a
  uint64_t hash_ = 0xcbf29ce484222325;
};

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

void AddStack(Hash& hash, const std::vector<Frame>& frames) {
  for (const Frame& frame : frames) {
    if (!frame.file.empty()) {
      hash.Add(fmt::format("{}:{}:{}", frame.fn, FileName(frame.file), frame.line));
    } else {
      hash.Add(fmt::format("{}+{:x}", FileName(frame.module), frame.offset));
    }
  }
  hash.Add("");
}

void AddSite(Hash& hash, Symboliser& symbols, const Site& site) {
  hash.Add(site.name);
  const std::vector<Frame>& frames = symbols.Frames(site.stack);
  if (frames.empty()) hash.Add(site.lane);
  AddStack(hash, frames);
}

// Without a name of its own it has a number (BufferLabel), which every step makes anew.
bool IsNamed(const std::string& buffer) { return buffer.rfind("alloc#", 0) != 0; }

}  // namespace

std::string StableId(Symboliser& symbols, const Finding& finding) {
  const StackId stacks[] = {finding.first.stack, finding.second.stack, finding.buffer.alloc_stack};
  bool recorded = false;
  for (StackId stack : stacks) recorded |= !symbols.Frames(stack).empty();
  if (!recorded) return finding.id;  // of names and lines
  Hash hash;
  hash.Add(finding.code);
  hash.Add(IsNamed(finding.buffer.name) ? finding.buffer.name : "");
  AddStack(hash, symbols.Frames(finding.buffer.alloc_stack));
  AddSite(hash, symbols, finding.first);
  AddSite(hash, symbols, finding.second);
  return hash.Text();
}

}  // namespace ss
