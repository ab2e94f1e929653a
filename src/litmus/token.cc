#include "src/litmus/token.h"

#include <fmt/format.h>

#include <cctype>

namespace ss::litmus {
namespace {

constexpr size_t kMaxQuoted = 40;

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

bool IsSymbolChar(char c) {
  return std::string_view(":[]@<>{}(),;\"#").find(c) != std::string_view::npos;
}

size_t EndOfWord(std::string_view text, size_t at) {
  while (at < text.size() && IsWordChar(text[at])) ++at;
  return at;
}

// Bytes that belong to nothing (UTF-8, control characters) stay together, so that an error quotes
// them whole.
size_t EndOfOther(std::string_view text, size_t at) {
  while (at < text.size() && !IsWordChar(text[at]) && !IsBlank(text[at]) && !IsSymbolChar(text[at]))
    ++at;
  return at;
}

}  // namespace

bool IsName(std::string_view text) {
  if (text.empty() || text.find('-') != std::string_view::npos) return false;
  return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_';
}

std::string Quoted(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the line";
  std::string text;
  for (unsigned char c : token.text.substr(0, kMaxQuoted)) {
    text +=
        c < 0x20 || c >= 0x7f ? fmt::format("\\x{:02x}", c) : std::string(1, static_cast<char>(c));
  }
  return "'" + text + (token.text.size() > kMaxQuoted ? "..." : "") + "'";
}

void Refuse(const Token& token, const std::string& expected, std::string remedy) {
  throw SyntaxError{token.line, token.column, "found " + Quoted(token) + ", expected " + expected,
                    std::move(remedy)};
}

std::vector<Token> Tokenise(std::string_view text, uint32_t line) {
  std::vector<Token> tokens;
  size_t end_of_last = 0;
  auto add = [&](Token::Kind kind, size_t begin, size_t end, size_t quotes = 0) {
    std::string word(text.substr(begin + quotes, end - begin - 2 * quotes));
    tokens.push_back({kind, std::move(word), line, static_cast<uint32_t>(begin + 1)});
    end_of_last = end;
    return end;
  };
  for (size_t at = 0; at < text.size();) {
    if (IsBlank(text[at])) {
      ++at;
    } else if (text[at] == '#') {
      break;
    } else if (text[at] == '"') {
      size_t close = text.find('"', at + 1);
      if (close == std::string_view::npos) {
        Refuse({Token::Kind::kString, std::string(text.substr(at)), line,
                static_cast<uint32_t>(at + 1)},
               "a closing '\"' on this line");
      }
      at = add(Token::Kind::kString, at, close + 1, 1);
    } else if (IsWordChar(text[at])) {
      at = add(Token::Kind::kWord, at, EndOfWord(text, at));
    } else if (text.substr(at, 2) == "<-") {
      at = add(Token::Kind::kSymbol, at, at + 2);
    } else {
      at = add(Token::Kind::kSymbol, at, IsSymbolChar(text[at]) ? at + 1 : EndOfOther(text, at));
    }
  }
  tokens.push_back({Token::Kind::kEnd, "", line, static_cast<uint32_t>(end_of_last + 1)});
  return tokens;
}

}  // namespace ss::litmus
