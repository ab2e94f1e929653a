// A trace written by hand: records with numbers, fed to an importer, and what came out.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/import/importer.h"
#include "src/kernels/registry.h"

namespace ss {

constexpr uint64_t kContext = 0xC0;
constexpr uint64_t kStreamA = 0xA00, kStreamB = 0xB00;
constexpr uint64_t kEventE = 0xE00;
constexpr uint64_t kKernel = 0xF00;

struct Seen {
  Op op;
  std::vector<Access> accesses;
};

class Feeder : public ImportSink {
 public:
  explicit Feeder(ImportOptions options = {}) : importer(names, options) {}

  // A call of `thread` that nothing overlaps.
  template <typename Body>
  Feeder& Call(uint32_t thread, Body body) {
    const uint64_t before = ++seq_;
    return At(thread, before, ++seq_, std::move(body));
  }
  template <typename Body>
  Feeder& Note(uint32_t thread, Body body) {
    ++seq_;
    return At(thread, seq_, seq_, std::move(body));
  }
  // With numbers of its own; give them in order of `before`.
  template <typename Body>
  Feeder& At(uint32_t thread, uint64_t before, uint64_t after, Body body) {
    seq_ = std::max({seq_, before, after});
    const trace::Record record{thread, before, after, std::move(body)};
    if (registry != nullptr) {
      registry->Feed(record);
      for (const auto& kernel : registry->Kernels()) registry->Wait(*kernel, std::chrono::hours(1));
    }
    importer.Feed(record, *this);
    return *this;
  }
  Feeder& Text(uint64_t id, std::string text) { return Note(0, trace::Text{id, std::move(text)}); }
  Feeder& Context(uint64_t context = kContext, uint64_t device = 0) {
    return Call(0, trace::ContextCreate{context, device});
  }
  Feeder& Streams() {  // A and B, both non-blocking
    Call(0, trace::StreamCreate{.stream = kStreamA, .context = kContext, .flags = 1});
    return Call(0, trace::StreamCreate{.stream = kStreamB, .context = kContext, .flags = 1});
  }
  Feeder& End() {
    importer.Finish(*this);
    return *this;
  }

  void OnOp(const Op& op, std::span<const Access> accesses) override {
    seen.push_back({op, {accesses.begin(), accesses.end()}});
  }

  std::vector<Seen> Of(OpKind kind) const {
    std::vector<Seen> found;
    for (const Seen& one : seen) {
      if (one.op.kind == kind) found.push_back(one);
    }
    return found;
  }
  // The only one of its kind; throws (and so fails the test) otherwise.
  Seen The(OpKind kind) const {
    std::vector<Seen> found = Of(kind);
    if (found.size() != 1) throw std::runtime_error(std::to_string(found.size()) + " operations");
    return found[0];
  }
  std::string NameOf(const Op& op) const { return strings.Get(op.name); }
  // Whether coverage has a note that begins so; with a number, "text...: N".
  bool HasNote(const std::string& text) const { return FindNote(text, ""); }
  bool HasNote(uint64_t n, const std::string& text) const {
    return FindNote(text, ": " + std::to_string(n));
  }
  uint64_t seq() const { return seq_; }

  Program names;
  StringTable& strings = names.strings;
  Importer importer;
  kernels::Registry* registry = nullptr;  // gets every record first, as ImportOptions::kernels
  std::vector<Seen> seen;

 private:
  bool FindNote(const std::string& start, const std::string& end) const {
    const std::vector<std::string> notes = importer.coverage().notes;
    return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.starts_with(start) && note.ends_with(end);
    });
  }

  uint64_t seq_ = 0;
};

}  // namespace ss
