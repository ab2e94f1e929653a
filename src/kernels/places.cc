#include "src/kernels/places.h"

#include <charconv>

namespace ss::kernels {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t;") - begin + 1);
}

// `//## File "PATH", line N inlined at "PATH", line N`: one step of the chain a line; the steps
// follow each other.
std::string SourceLine(std::string_view text) {
  const size_t open = text.find('"'), close = text.find('"', open + 1);
  const size_t word = text.find("line ", close);
  if (open == text.npos || close == text.npos || word == text.npos) return {};
  std::string_view path = text.substr(open + 1, close - open - 1);
  path.remove_prefix(path.find_last_of('/') + 1);
  std::string_view number = text.substr(word + 5);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  return std::string(path) + ":" + std::string(number);
}

class PlaceParser {
 public:
  CodePlaces Parse(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      Take(text.substr(0, end));
      if (end == text.npos) break;
      text.remove_prefix(end + 1);
    }
    return std::move(places_);
  }

 private:
  void Take(std::string_view line) {
    if (const size_t section = line.find("\t.section\t.text."); section == 0) {
      std::string_view name = line.substr(std::string_view("\t.section\t.text.").size());
      code_ = &places_[std::string(name.substr(0, name.find(',')))];
      chain_.clear();
      complete_ = true;
    } else if (line.find("//## File ") != line.npos) {
      Source(line.substr(line.find("//## ")));
    } else if (const size_t open = line.find("/*"); open != line.npos && code_) {
      Instruction(line.substr(open + 2));
    }
  }

  // nvdisasm prints the chain outermost last, each step "inlined at" the next.
  void Source(std::string_view line) {
    if (complete_) chain_.clear();
    chain_.push_back(SourceLine(line));
    complete_ = line.find("inlined at") == line.npos;
  }

  void Instruction(std::string_view text) {
    const size_t close = text.find("*/");
    if (close == text.npos) return;
    uint64_t offset = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + close, offset, 16);
    if (error != std::errc() || end != text.data() + close) return;
    (*code_)[offset] = {std::string(Trim(text.substr(close + 2))), chain_};
    complete_ = true;
  }

  CodePlaces places_;
  std::map<uint64_t, CodePlace>* code_ = nullptr;
  std::vector<std::string> chain_;
  bool complete_ = true;
};

}  // namespace

CodePlaces ParsePlaces(std::string_view text) { return PlaceParser().Parse(text); }

Result<CodePlaces> ReadPlaces(const Disassembler& disassembler, std::string_view cubin) {
  Result<std::string> text = disassembler.Listing(cubin);
  if (!text) return tl::unexpected(text.error());
  return ParsePlaces(*text);
}

}  // namespace ss::kernels
