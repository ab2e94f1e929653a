#include "src/litmus/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace ss::litmus {
namespace {

// Digits with an optional unit; nothing where the word is no such number or does not fit.
std::optional<uint64_t> ParseNumber(std::string_view word, bool units) {
  uint64_t value = 0;
  auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit(rest, static_cast<size_t>(word.data() + word.size() - rest));
  if (unit.empty()) return value;
  size_t power = std::string_view("KMG").find(unit);
  if (!units || unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  size_t shift = 10 * (power + 1);
  if (value > kMaxBytes >> shift) return std::nullopt;
  return value << shift;
}

}  // namespace

std::string BytesText(uint64_t bytes) {
  for (int power = 3; power > 0; --power) {
    uint64_t unit = uint64_t{1} << (10 * power);
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{}{}", bytes / unit, " KMG"[power]);
  }
  return std::to_string(bytes);
}

const Token& Cursor::Peek(size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

Token Cursor::Take() {
  Token token = Peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool Cursor::Sees(std::string_view text) const {
  const Token& token = Peek();
  bool literal = token.kind == Token::Kind::kWord || token.kind == Token::Kind::kSymbol;
  return literal && token.text == text;
}

bool Cursor::Accept(std::string_view text) {
  if (!Sees(text)) return false;
  Take();
  return true;
}

void Cursor::Expect(std::string_view text) {
  if (!Accept(text)) Refuse(Peek(), fmt::format("'{}'", text));
}

void Cursor::ExpectEnd() {
  if (!AtEnd()) Refuse(Peek(), "the end of the line");
}

Token Cursor::Name(const std::string& what) {
  if (Peek().kind != Token::Kind::kWord || !IsName(Peek().text)) Refuse(Peek(), what);
  return Take();
}

uint64_t Cursor::Number(const std::string& what, uint64_t limit) {
  auto value = Peek().kind == Token::Kind::kWord ? ParseNumber(Peek().text, false) : std::nullopt;
  if (!value || *value > limit) Refuse(Peek(), what);
  Take();
  return *value;
}

uint64_t Cursor::Bytes(const std::string& what) {
  auto value = Peek().kind == Token::Kind::kWord ? ParseNumber(Peek().text, true) : std::nullopt;
  if (!value || *value > kMaxBytes) Refuse(Peek(), what, "bytes, or with K, M or G; at most 1024G");
  Take();
  return *value;
}

std::string Cursor::Text(const std::string& what) {
  if (Peek().kind != Token::Kind::kString) Refuse(Peek(), what);
  return Take().text;
}

}  // namespace ss::litmus
