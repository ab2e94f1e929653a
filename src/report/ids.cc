#include "src/report/ids.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <string_view>

#include "src/program/op_names.h"

namespace ss {
namespace {

// FNV-1a over words, each closed off so that ("ab", "c") and ("a", "bc") differ.
class Hash {
 public:
  void Add(std::string_view word) {
    for (unsigned char c : word) Byte(c);
    Byte(0);
  }
  uint64_t value() const { return value_; }

 private:
  void Byte(unsigned char c) { value_ = (value_ ^ c) * 0x100000001b3ull; }

  uint64_t value_ = 0xcbf29ce484222325ull;
};

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "alloc#7", "stream#3": counted in first-seen order, which threads decide anew in every run.
std::string_view WithoutNumber(std::string_view name) {
  for (std::string_view made : {"alloc#", "stream#", "comm#"}) {
    if (name.substr(0, made.size()) == made) return made;
  }
  return name;
}

// Functions where there are any, else places in modules: a stripped library's offsets are all that
// there is to tell its calls apart, and worth nothing beside names.
void AddStack(Hash& hash, const std::vector<Frame>& frames) {
  bool named = false;
  for (const Frame& frame : frames) {
    if (!IsProgramFrame(frame) || frame.fn.empty()) continue;
    named = true;
    hash.Add(frame.fn);
    hash.Add(BaseName(frame.file));
  }
  for (const Frame& frame : frames) {
    if (named || !IsProgramFrame(frame) || frame.module.empty()) continue;
    hash.Add(BaseName(frame.module));
    hash.Add(fmt::format("{:x}", frame.offset));
  }
}

// A place without a call stack, a line of a litmus file, is known by its lane.
void AddSite(Hash& hash, const Site& site, Symboliser& symbols) {
  hash.Add(Name(site.kind));
  hash.Add(site.name);
  hash.Add(site.access);
  const std::vector<Frame>& frames = symbols.Frames(site.stack);
  if (frames.empty()) hash.Add(WithoutNumber(site.lane));
  AddStack(hash, frames);
}

uint64_t HashOf(const Finding& finding, Symboliser& symbols) {
  Hash hash;
  hash.Add(finding.code);
  hash.Add(WithoutNumber(finding.buffer.name));
  AddSite(hash, finding.first, symbols);
  AddSite(hash, finding.second, symbols);
  AddStack(hash, symbols.Frames(finding.buffer.alloc_stack));
  return hash.value();
}

}  // namespace

std::vector<std::string> IdsOf(const Report& report, Symboliser& symbols) {
  std::vector<std::string> ids;
  std::map<std::pair<std::string, uint64_t>, size_t> alike;  // within one input of the report
  for (const Finding& finding : report.findings) {
    if (finding.absorbed) {
      ids.emplace_back();
      continue;
    }
    const uint64_t hash = HashOf(finding, symbols);
    const size_t number = ++alike[{finding.source, hash}];
    ids.push_back(number == 1 ? fmt::format("{:016x}", hash)
                              : fmt::format("{:016x}-{}", hash, number));
  }
  return ids;
}

}  // namespace ss
