#include "src/report/suppressions.h"

#include <fmt/format.h>
#include <fnmatch.h>

namespace ss {
namespace {

std::string_view Trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool Fits(const std::string& glob, const std::string& text) {
  return !text.empty() && fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

void AddFrames(std::vector<std::string>& words, Symboliser& symbols, StackId stack) {
  for (const Frame& frame : symbols.Frames(stack)) {
    words.insert(words.end(), {frame.fn, frame.file, frame.module, ShortText(frame)});
  }
}

std::vector<std::string> Words(const Finding& finding, Symboliser& symbols) {
  std::vector<std::string> words = {finding.buffer.name};
  for (const Site* site : {&finding.first, &finding.second, &finding.reuse}) {
    words.insert(words.end(), {site->name, site->label, site->lane});
    AddFrames(words, symbols, site->stack);
  }
  AddFrames(words, symbols, finding.buffer.alloc_stack);
  return words;
}

// Counts for the first line that fits, as a reader of the file would expect.
bool SuppressWords(std::vector<Suppression>& lines, const std::string& code,
                   const std::vector<std::string>& words) {
  for (Suppression& line : lines) {
    if (!Fits(line.code, code)) continue;
    for (const std::string& word : words) {
      if (!Fits(line.glob, word)) continue;
      ++line.matched;
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<Suppression>> ParseSuppressions(std::string_view text, const std::string& file) {
  std::vector<Suppression> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::string place = fmt::format("{}:{}", file, number);
    size_t colon = line.find(':');
    std::string code(Trim(line.substr(0, colon)));
    std::string glob(colon == std::string_view::npos ? "" : Trim(line.substr(colon + 1)));
    if (code.empty() || glob.empty()) {
      return Fail(place, fmt::format("found '{}', expected CODE:GLOB", line),
                  "for example race-raw:my_buffer or lifetime:*allgather*");
    }
    lines.push_back({code, glob, place});
  }
  return lines;
}

std::string SuppressionFor(const Finding& finding, Symboliser& symbols) {
  std::string word = finding.buffer.name;
  const bool made = word.empty() || word.rfind("alloc#", 0) == 0;  // another one in the next run
  if (made) {
    const Frame* frame = SiteOf(symbols.Frames(finding.second.stack));
    word = frame != nullptr ? ShortText(*frame) : "";
    if (word.empty()) word = finding.second.op != 0 ? finding.second.name : finding.first.name;
  }
  for (char& c : word) {  // what would mean something else in a line
    if (std::string_view("#*?[]\\ \t\r\n").find(c) != std::string_view::npos) c = '?';
  }
  return word.empty() ? "" : finding.code + ":" + word;
}

bool Suppress(std::vector<Suppression>& lines, const Finding& finding, Symboliser& symbols) {
  return !lines.empty() && SuppressWords(lines, finding.code, Words(finding, symbols));
}

bool Suppress(std::vector<Suppression>& lines, const Advice& advice) {
  return SuppressWords(lines, advice.code, {advice.subject, advice.site.name, advice.site.lane});
}

}  // namespace ss
