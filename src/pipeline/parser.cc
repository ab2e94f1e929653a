#include "src/pipeline/parser.h"

#include <fmt/format.h>

#include <charconv>

namespace ss::pipeline {

using litmus::IsName;
using litmus::Refuse;

Parser::Parser(std::string_view text) {
  uint32_t line = 0;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<Token> tokens = litmus::Tokenise(text.substr(begin, end - begin), ++line);
    tokens_.insert(tokens_.end(), std::make_move_iterator(tokens.begin()),
                   std::make_move_iterator(tokens.end()));
    begin = end + 1;
  }
}

litmus::Token Parser::Take() {
  Token token = Peek();
  if (!AtFileEnd()) ++next_;
  return token;
}

bool Parser::Sees(std::string_view text) const {
  return Peek().kind != Token::Kind::kString && Peek().kind != Token::Kind::kEnd &&
         Peek().text == text;
}

bool Parser::Accept(std::string_view text) {
  if (!Sees(text)) return false;
  Take();
  return true;
}

void Parser::Expect(std::string_view text) {
  if (!Accept(text)) Refuse(Peek(), fmt::format("'{}'", text));
}

litmus::Token Parser::Name(const std::string& what) {
  if (Peek().kind != Token::Kind::kWord || !IsName(Peek().text)) Refuse(Peek(), what);
  return Take();
}

uint32_t Parser::Number(const std::string& what, uint32_t low, uint32_t high) {
  const std::string& word = Peek().text;
  uint32_t value = 0;
  auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  bool good = Peek().kind == Token::Kind::kWord && error == std::errc{} &&
              rest == word.data() + word.size() && value >= low && value <= high;
  if (!good) Refuse(Peek(), fmt::format("{}, {} to {}", what, low, high));
  Take();
  return value;
}

void Parser::EndStatement() {
  if (Sees("}") || AtFileEnd() || Accept(";")) return;
  if (!AtLineEnd()) Refuse(Peek(), "';' or the end of the line");
  Take();
}

void Parser::SkipSeparators() {
  while (!AtFileEnd() && (AtLineEnd() || Sees(";"))) Take();
}

Protocol Parser::Parse() {
  SkipSeparators();
  if (AtFileEnd()) {
    throw litmus::SyntaxError{1, 1, "found no statement, expected a protocol",
                              "docs/pipelines.md describes them"};
  }
  for (; !AtFileEnd(); SkipSeparators()) {
    Statement();
    if (Sees("}")) Refuse(Peek(), "';' or the end of the line");
    EndStatement();
  }
  ResolveSides();
  ResolveExpectations();
  return std::move(file_);
}

void Parser::Statement() {
  if (Accept("title")) return ParseTitle();
  if (Accept("pipeline")) return ParsePipeline();
  if (Accept("mbar")) return ParseMbar();
  if (Accept("role")) return ParseRole();
  if (Accept("expect")) return ParseExpect();
  Refuse(Peek(), "'title', 'pipeline', 'mbar', 'role' or 'expect'");
}

void Parser::ParseTitle() {
  if (Peek().kind != Token::Kind::kString) Refuse(Peek(), "the title in double quotes");
  file_.title = Take().text;
}

void Parser::Claim(const Token& name) {
  if (pipes_.count(name.text) || mbars_.count(name.text) || bars_.count(name.text))
    Refuse(name, "a new name", "it is declared above");
}

void Parser::CountBarriers(const Token& name, uint32_t barriers) {
  if ((barriers_ += barriers) > kMaxBarriers)
    Refuse(name, fmt::format("at most {} barriers in all, two a stage", kMaxBarriers));
}

void Parser::ParsePipeline() {
  Token name = Name("the pipeline's name");
  Claim(name);
  Pipe pipe;
  pipe.name = name.text;
  pipe.line = name.line;
  Sides sides;
  Expect("stages");
  pipe.stages = Number("a number of stages", 1, kMaxStages);
  CountBarriers(name, 2 * pipe.stages);
  Expect("producers");
  ParseSide(pipe.producers, sides.producers, "consumers");
  Expect("consumers");
  ParseSide(pipe.consumers, sides.consumers, "");
  pipes_[pipe.name] = static_cast<uint32_t>(file_.pipes.size());
  file_.pipes.push_back(std::move(pipe));
  sides_.push_back(std::move(sides));
}

void Parser::ParseSide(Side& side, std::vector<Token>& names, std::string_view stop) {
  do {
    Token name = Name("a role's name");
    for (const Token& other : names) {
      if (other.text == name.text) Refuse(name, "each role once on a side");
    }
    names.push_back(name);
    if (Accept("arrivals")) {
      side.arrivals = Number("a number of arrivals", 1, kMaxOps);
      break;
    }
  } while (Peek().kind == Token::Kind::kWord && Peek().text != stop);
}

void Parser::ParseMbar() {
  Token name = Name("the mbarrier's name");
  Claim(name);
  Expect("arrivals");
  uint32_t arrivals = Number("a number of arrivals", 1, kMaxOps);
  CountBarriers(name, 1);
  mbars_[name.text] = static_cast<uint32_t>(file_.mbars.size());
  file_.mbars.push_back({name.text, arrivals});
}

void Parser::ParseRole() {
  Token name = Name("the role's name");
  if (roles_.count(name.text)) Refuse(name, "a new role", "it is declared above");
  Role role;
  role.name = name.text;
  role.line = name.line;
  if (Accept("warps")) role.warps = Number("a number of warps", 1, kMaxAgents);
  if ((agents_ += role.warps) > kMaxAgents)
    Refuse(name, fmt::format("at most {} warps in all", kMaxAgents));
  Expect("{");
  role.ops = Block(0, room_ / role.warps);
  uint64_t cost = 0;
  for (const Op& op : role.ops) cost += Cost(op);
  room_ -= std::min(room_, cost * role.warps);
  roles_[role.name] = static_cast<uint32_t>(file_.roles.size());
  file_.roles.push_back(std::move(role));
}

void Parser::ResolveSides() {
  auto resolve = [&](Side& side, const std::vector<Token>& names) {
    uint32_t agents = 0;
    for (const Token& name : names) {
      side.roles.push_back(RoleIndex(name));
      agents += file_.roles[side.roles.back()].warps;
    }
    if (side.arrivals == 0) side.arrivals = agents;
  };
  for (size_t i = 0; i < sides_.size(); ++i) {
    resolve(file_.pipes[i].producers, sides_[i].producers);
    resolve(file_.pipes[i].consumers, sides_[i].consumers);
  }
}

uint32_t Parser::RoleIndex(const Token& name) const {
  auto it = roles_.find(name.text);
  if (it == roles_.end()) Refuse(name, "a role of this file");
  return it->second;
}

Result<Protocol> ParseProtocol(std::string_view text, const std::string& file_name) {
  try {
    return Parser(text).Parse();
  } catch (const litmus::SyntaxError& error) {
    return Fail(fmt::format("{}:{}:{}", file_name, error.line, error.column), error.message,
                error.remedy);
  }
}

}  // namespace ss::pipeline
