// The operations of a role, loops unrolled while they are read, and `expect` lines.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "src/pipeline/parser.h"

namespace ss::pipeline {
namespace {

using litmus::Refuse;

constexpr uint32_t kMaxDepth = 32;  // of nested loops

std::optional<OpKind> KindOf(const std::string& word) {
  static const std::map<std::string, OpKind> kKinds = {
      {"acquire", OpKind::kAcquire},    {"commit", OpKind::kCommit},
      {"wait", OpKind::kWait},          {"release", OpKind::kRelease},
      {"tail", OpKind::kTail},          {"tail_last", OpKind::kTailLast},
      {"advance", OpKind::kAdvance},    {"read", OpKind::kRead},
      {"write", OpKind::kWrite},        {"sync", OpKind::kSync},
      {"arrive", OpKind::kArrive},      {"arrive_drop", OpKind::kArriveDrop},
      {"expect_tx", OpKind::kExpectTx}, {"complete_tx", OpKind::kCompleteTx},
      {"await", OpKind::kAwait},        {"delay", OpKind::kDelay}};
  auto it = kKinds.find(word);
  return it == kKinds.end() ? std::nullopt : std::optional(it->second);
}

struct Shape {
  const char* code;
  bool subject, mbar;  // names a pipeline; may name an mbarrier instead
  int roles;
};

constexpr Shape kShapes[] = {{"pipeline-owner", true, false, 1},
                             {"pipeline-deadlock", false, false, 1},
                             {"pipeline-early", true, true, 1},
                             {"pipeline-overtake", true, true, 1},
                             {"pipeline-race", true, false, 2}};

}  // namespace

std::vector<Op> Parser::Block(uint32_t depth, uint64_t room) {
  std::vector<Op> ops;
  uint64_t used = 0;
  for (SkipSeparators(); !Accept("}"); SkipSeparators()) {
    Token word = Peek();
    if (AtFileEnd()) Refuse(word, "'}'");
    const size_t before = ops.size();
    if (Accept("for")) {
      For(ops, depth + 1, room - used);
    } else {
      ops.push_back(ParseOp(Take()));
    }
    for (size_t i = before; i < ops.size(); ++i) used += Cost(ops[i]);
    if (used > room) {
      Refuse(word, fmt::format("at most {} steps of all warps, loops unrolled", kMaxOps),
             "take fewer turns: a protocol repeats itself after a few");
    }
    EndStatement();
  }
  return ops;
}

void Parser::For(std::vector<Op>& ops, uint32_t depth, uint64_t room) {
  Token turns_token = Peek();
  if (depth > kMaxDepth) Refuse(turns_token, fmt::format("at most {} nested loops", kMaxDepth));
  uint32_t turns = Number("a number of turns", 0, 1'000'000'000);
  Expect("{");
  std::vector<Op> body = Block(depth, room);
  if (!body.empty() && uint64_t{turns} * body.size() > room) {
    Refuse(turns_token, fmt::format("at most {} steps of all warps, loops unrolled", kMaxOps),
           "take fewer turns: a protocol repeats itself after a few");
  }
  if (body.empty()) return;
  for (uint32_t i = 0; i < turns; ++i) ops.insert(ops.end(), body.begin(), body.end());
}

uint64_t Parser::Cost(const Op& op) const {
  return op.kind == OpKind::kTail ? file_.pipes[op.target].stages : 1;
}

Op Parser::ParseOp(const Token& word) {
  std::optional<OpKind> kind =
      word.kind == Token::Kind::kWord ? KindOf(word.text) : std::optional<OpKind>();
  if (!kind) Refuse(word, "an operation, 'for' or '}'");
  Op op;
  op.kind = *kind;
  op.line = word.line;
  op.column = word.column;
  switch (op.kind) {
    case OpKind::kDelay:
      break;
    case OpKind::kSync:
      BarTarget(op);
      break;
    case OpKind::kArrive:
      if (mbars_.count(Peek().text)) {
        MbarTarget(op);
      } else {
        op.kind = OpKind::kBarArrive;
        BarTarget(op);
      }
      break;
    case OpKind::kArriveDrop:
    case OpKind::kExpectTx:
    case OpKind::kCompleteTx:
    case OpKind::kAwait:
      MbarTarget(op);
      break;
    default:
      PipeTarget(op);
  }
  return op;
}

void Parser::PipeTarget(Op& op) {
  auto it = Peek().kind == Token::Kind::kWord ? pipes_.find(Peek().text) : pipes_.end();
  if (it == pipes_.end()) Refuse(Peek(), "a declared pipeline");
  op.target = it->second;
  Take();
}

void Parser::MbarTarget(Op& op) {
  auto it = Peek().kind == Token::Kind::kWord ? mbars_.find(Peek().text) : mbars_.end();
  if (it == mbars_.end()) Refuse(Peek(), "a declared mbarrier");
  op.target = it->second;
  Take();
  bool arrives = op.kind == OpKind::kArrive || op.kind == OpKind::kArriveDrop;
  // More arrivals than a phase has is undefined on the hardware.
  uint32_t most = arrives ? file_.mbars[op.target].arrivals : kMaxOps;
  if (op.kind == OpKind::kAwait) {
    op.count = Number("a parity", 0, 1);
  } else {
    op.count = Peek().kind == Token::Kind::kWord ? Number("a count", 1, most) : 1;
  }
}

void Parser::BarTarget(Op& op) {
  const Token name = Peek();
  const bool digits = name.kind == Token::Kind::kWord && !name.text.empty() &&
                      name.text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) {
    Number("a barrier's name or number", 0, 15);
  } else {
    Name("a barrier's name or number, 0 to 15");
    if (pipes_.count(name.text) || mbars_.count(name.text))
      Refuse(name, "a named barrier", "it is declared as something else");
  }
  const Token agents_token = Peek();
  uint32_t agents = Number("the number of agents that meet there", 1, kMaxOps);
  std::string key = digits ? std::to_string(std::stoi(name.text)) : name.text;
  auto [it, fresh] = bars_.emplace(key, static_cast<uint32_t>(file_.bars.size()));
  if (fresh) {
    CountBarriers(name, 1);
    file_.bars.push_back({key, agents});
  }
  op.target = it->second;
  op.count = 1;
  if (file_.bars[op.target].agents != agents) {
    Refuse(agents_token,
           fmt::format("{}, as at this barrier's first use", file_.bars[op.target].agents));
  }
}

void Parser::ParseExpect() {
  const Token word = Peek();
  Expectation expectation;
  expectation.line = word.line;
  std::vector<Token> names;
  if (Accept("none")) {
    if (!file_.expectations.empty()) Refuse(word, "no 'expect none' beside a hazard");
    none_ = word;
    return;
  }
  const Shape* shape = nullptr;
  for (const Shape& one : kShapes) {
    if (word.kind == Token::Kind::kWord && word.text == one.code) shape = &one;
  }
  if (!shape) {
    Refuse(word,
           "'none', pipeline-owner, pipeline-deadlock, pipeline-early, pipeline-overtake or "
           "pipeline-race");
  }
  Take();
  if (none_.kind != Token::Kind::kEnd) Refuse(word, "no hazard beside 'expect none'");
  expectation.code = word.text;
  if (shape->subject) {
    names.push_back(Name(shape->mbar ? "a pipeline or an mbarrier" : "a pipeline"));
    expectation.subject = names.back().text;
  }
  for (int i = 0; i < shape->roles; ++i) {
    names.push_back(Name("a role"));
    (i == 0 ? expectation.role : expectation.other) = names.back().text;
  }
  file_.expectations.push_back(std::move(expectation));
  expected_names_.push_back(std::move(names));
}

void Parser::ResolveExpectations() {
  for (size_t i = 0; i < file_.expectations.size(); ++i)
    CheckExpectation(file_.expectations[i], expected_names_[i]);
}

void Parser::CheckExpectation(const Expectation& expectation,
                              const std::vector<Token>& names) const {
  size_t at = 0;
  if (!expectation.subject.empty()) {
    const Token& subject = names[at++];
    bool mbar = expectation.code == "pipeline-early" || expectation.code == "pipeline-overtake";
    if (!pipes_.count(subject.text) && !(mbar && mbars_.count(subject.text)))
      Refuse(subject, mbar ? "a declared pipeline or mbarrier" : "a declared pipeline");
  }
  for (; at < names.size(); ++at) RoleIndex(names[at]);
}

}  // namespace ss::pipeline
