// Recursive descent over the tokens of a whole `.pipe` file. Only src/pipeline includes this.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/litmus/token.h"
#include "src/pipeline/protocol.h"

namespace ss::pipeline {

class Parser {
 public:
  explicit Parser(std::string_view text);  // throws litmus::SyntaxError, as Parse does

  Protocol Parse();

 private:
  using Token = litmus::Token;

  // tokens
  const Token& Peek() const { return tokens_[next_]; }
  Token Take();
  bool Sees(std::string_view text) const;
  bool Accept(std::string_view text);
  void Expect(std::string_view text);
  Token Name(const std::string& what);
  uint32_t Number(const std::string& what, uint32_t low, uint32_t high);
  bool AtLineEnd() const { return Peek().kind == Token::Kind::kEnd; }
  bool AtFileEnd() const { return next_ + 1 == tokens_.size(); }
  void EndStatement();    // ';', the end of the line or, unread, '}'
  void SkipSeparators();  // empty statements

  // declarations
  void Statement();
  void ParseTitle();
  void ParsePipeline();
  void ParseSide(Side& side, std::vector<Token>& names, std::string_view stop);
  void ParseMbar();
  void ParseRole();
  void Claim(const Token& name);  // pipelines, mbarriers and named barriers share their names
  void CountBarriers(const Token& name, uint32_t barriers);

  // operations
  std::vector<Op> Block(uint32_t depth, uint64_t room);
  void For(std::vector<Op>& ops, uint32_t depth, uint64_t room);
  Op ParseOp(const Token& word);
  void PipeTarget(Op& op);
  void MbarTarget(Op& op);
  void BarTarget(Op& op);
  uint64_t Cost(const Op& op) const;  // steps that it stands for

  // expectations and what can be said only at the end
  void ParseExpect();
  void ResolveSides();
  void ResolveExpectations();
  void CheckExpectation(const Expectation& expectation, const std::vector<Token>& names) const;
  uint32_t RoleIndex(const Token& name) const;

  Protocol file_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  uint64_t room_ = kMaxOps;
  uint32_t agents_ = 0, barriers_ = 0;
  std::map<std::string, uint32_t, std::less<>> roles_, pipes_, mbars_, bars_;
  struct Sides {
    std::vector<Token> producers, consumers;
  };
  std::vector<Sides> sides_;                        // a pipe
  std::vector<std::vector<Token>> expected_names_;  // an expectation
  Token none_;                                      // where `expect none` stands, kEnd = nowhere
};

}  // namespace ss::pipeline
