// Reads the tokens of one line from left to right; every refusal names the offending token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/litmus/token.h"

namespace ss::litmus {

class Cursor {
 public:
  Cursor() : tokens_(1) {}  // an empty line
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // Past the end there is only the kEnd token, again and again.
  const Token& Peek(size_t ahead = 0) const;
  Token Take();
  const Token& Previous() const { return tokens_[next_ ? next_ - 1 : 0]; }
  bool AtEnd() const { return Peek().kind == Token::Kind::kEnd; }
  bool Sees(std::string_view text) const;  // the next word or symbol
  bool Accept(std::string_view text);      // takes it if it is next

  void Expect(std::string_view text);
  void ExpectEnd();
  Token Name(const std::string& what);                       // any word that may be a name
  uint64_t Number(const std::string& what, uint64_t limit);  // decimal, 0..limit
  uint64_t Bytes(const std::string& what);                   // 4096, 4K, 1M, 2G; at most kMaxBytes
  std::string Text(const std::string& what);                 // "..."

 private:
  std::vector<Token> tokens_;
  size_t next_ = 0;
};

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

std::string BytesText(uint64_t bytes);  // 4K where that is exact, else 4097

}  // namespace ss::litmus
