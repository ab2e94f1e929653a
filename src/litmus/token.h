// One line of a litmus file as tokens. A word is a name, a number, a size or a hyphenated code;
// what a word must look like is the business of the place that reads it, so that an error can say
// what was meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ss::litmus {

// Thrown inside this folder only; ParseLitmus turns it into a Result. A parser of forty statements
// that checked a Result after every token would be mostly checks.
struct SyntaxError {
  uint32_t line = 0;
  uint32_t column = 0;
  std::string message;
  std::string remedy;
};

struct Token {
  enum class Kind : uint8_t { kWord, kString, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;     // a string without its quotes
  uint32_t line = 0;    // 1-based
  uint32_t column = 0;  // 1-based, in bytes
};

// The tokens of `text`, a comment cut off, closed by one kEnd just behind the last token.
std::vector<Token> Tokenise(std::string_view text, uint32_t line);

bool IsName(std::string_view text);  // [A-Za-z_][A-Za-z0-9_.]*

// "'X'" as errors quote it: short, and printable whatever the file holds.
std::string Quoted(const Token& token);

// Throws "found 'X', expected Y" at the token.
[[noreturn]] void Refuse(const Token& token, const std::string& expected, std::string remedy = {});

}  // namespace ss::litmus
