// `expect` lines. The names in them are checked when the file has been read: a line may stand above
// what it names.
#include <fmt/format.h>

#include <algorithm>

#include "src/litmus/parser.h"

namespace ss::litmus {
namespace {

constexpr const char* kLaneText = "a label, stream, host thread or graph of this file";

const std::set<std::string_view>& PairCodes() {
  static const std::set<std::string_view> kCodes = {"race-raw", "race-war", "race-waw", "fill-race",
                                                    "host-race"};
  return kCodes;
}

const std::set<std::string_view>& AdviceCodes() {
  static const std::set<std::string_view> kCodes = {
      "wait-unrecorded", "record-stream-noop", "redundant-wait", "redundant-record-stream",
      "implicit-sync",   "alloc-unordered",    "await-never"};
  return kCodes;
}

bool IsCollectiveCode(std::string_view code) {
  return code == "collective-order" || code == "collective-mismatch";
}

bool IsRankName(std::string_view text) {
  if (text.size() < 5 || text.size() > 8 || text.substr(0, 4) != "rank") return false;
  return text.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

}  // namespace

void Parser::Expect() {
  Expectation expectation;
  expectation.line = line_;
  const Token word = at_.Peek();
  if (at_.Accept("none")) {
    expectation.kind = Expectation::Kind::kNoHazard;
  } else if (at_.Accept("advice")) {
    ExpectAdvice(expectation);
  } else {
    ExpectHazard(expectation);
  }
  at_.ExpectEnd();
  RefuseContradiction(word, expectation);
  file_.expectations.push_back(std::move(expectation));
}

void Parser::ExpectAdvice(Expectation& expectation) {
  expectation.kind = Expectation::Kind::kNoAdvice;
  if (at_.Accept("none")) return;
  expectation.kind = Expectation::Kind::kAdvice;
  if (!AdviceCodes().count(at_.Peek().text)) {
    Refuse(at_.Peek(), fmt::format("'none' or one of {}", fmt::join(AdviceCodes(), ", ")));
  }
  expectation.code = at_.Take().text;
  if (!at_.AtEnd())
    expectation.subject = Checked(NameCheck::What::kAny, "a name, or the end of the line");
}

void Parser::ExpectHazard(Expectation& expectation) {
  expectation.kind = Expectation::Kind::kHazard;
  const Token code = at_.Peek();
  if (!PairCodes().count(code.text) && !IsCollectiveCode(code.text) && code.text != "lifetime") {
    Refuse(code,
           fmt::format(
               "'none', 'advice' or one of {}, lifetime, collective-order, collective-mismatch",
               fmt::join(PairCodes(), ", ")));
  }
  expectation.code = at_.Take().text;
  bool comm = IsCollectiveCode(expectation.code);
  expectation.subject = comm ? Checked(NameCheck::What::kComm, "a communicator of this file")
                             : Checked(NameCheck::What::kBuffer, "a buffer of this file");
  ExpectSites(expectation);
  while (!comm && !at_.AtEnd()) {
    bool struck_allowed = expectation.code == "lifetime" && !expectation.struck;
    if (struck_allowed && at_.Accept("struck")) {
      expectation.struck = true;
    } else if (!expectation.fix && at_.Accept("fix")) {
      expectation.fix = FixClause();
    } else {
      Refuse(at_.Peek(), struck_allowed ? "'struck', 'fix' or the end of the line"
                                        : "'fix' or the end of the line");
    }
  }
}

void Parser::ExpectSites(Expectation& expectation) {
  if (IsCollectiveCode(expectation.code) && at_.AtEnd()) return;
  expectation.first = Checked(NameCheck::What::kSite, kLaneText);
  if (expectation.code != "lifetime")
    expectation.second = Checked(NameCheck::What::kSite, kLaneText);
}

ExpectFix Parser::FixClause() {
  using What = NameCheck::What;
  if (at_.Accept("wait")) {
    std::string consumer = Checked(What::kLane, "the stream that is to wait");
    return {FixKind::kWait, consumer, Checked(What::kLane, "the stream that it is to wait for")};
  }
  if (at_.Accept("record_stream")) {
    std::string buffer = Checked(What::kBuffer, "a buffer of this file");
    return {FixKind::kRecordStream, buffer, Checked(What::kLane, "a stream of this file")};
  }
  if (at_.Accept("realloc-before-wait")) {
    return {FixKind::kReallocBeforeWait, Checked(What::kBuffer, "a buffer of this file"), ""};
  }
  if (at_.Accept("host-sync"))
    return {FixKind::kHostSync, Checked(What::kLane, "a stream of this file"), ""};
  if (at_.Accept("pdl-wait"))
    return {FixKind::kPdlWait, Checked(What::kOperation, "a label or kernel"), ""};
  if (at_.Accept("handoff")) {
    std::string giver = Checked(What::kLane, "a host thread of this file");
    return {FixKind::kHandoff, giver, Checked(What::kLane, "a host thread of this file")};
  }
  if (at_.Accept("free-later"))
    return {FixKind::kFreeLater, Checked(What::kBuffer, "a buffer of this file"), ""};
  if (at_.Accept("source-order"))
    return {FixKind::kSourceOrder, Checked(What::kOperation, "a label"), ""};
  if (at_.Accept("split-batch"))
    return {FixKind::kSplitBatch, Checked(What::kOperation, "a label"), ""};
  Refuse(at_.Peek(),
         "'wait', 'record_stream', 'realloc-before-wait', 'host-sync', 'pdl-wait', 'handoff', "
         "'free-later', 'source-order' or 'split-batch'");
}

std::string Parser::Checked(NameCheck::What what, const std::string& expected) {
  Token name = at_.Name(expected);
  names_expected_.push_back({name, what});
  return name.text;
}

// "nothing" beside "something" cannot both hold; the line that comes second is the one refused.
void Parser::RefuseContradiction(const Token& token, const Expectation& expectation) {
  using Kind = Expectation::Kind;
  static const std::map<Kind, Kind> kContrary = {{Kind::kHazard, Kind::kNoHazard},
                                                 {Kind::kNoHazard, Kind::kHazard},
                                                 {Kind::kAdvice, Kind::kNoAdvice},
                                                 {Kind::kNoAdvice, Kind::kAdvice}};
  Kind contrary = kContrary.at(expectation.kind);
  for (const Expectation& other : file_.expectations) {
    if (other.kind != contrary) continue;
    Refuse(token,
           fmt::format("an expectation that can hold beside the one in line {}", other.line));
  }
}

void Parser::CheckNames() {
  for (const NameCheck& check : names_expected_) {
    if (Known(check)) continue;
    using What = NameCheck::What;
    const char* expected = check.what == What::kBuffer      ? "a buffer of this file"
                           : check.what == What::kComm      ? "a communicator of this file"
                           : check.what == What::kOperation ? "a label or kernel of this file"
                           : check.what == What::kAny       ? "a name of this file"
                           : check.what == What::kLane
                               ? "a stream, host thread or graph of this file"
                               : kLaneText;
    Refuse(check.token, expected);
  }
}

// With ranks a name matches in any of them.
bool Parser::Known(const NameCheck& check) const {
  using What = NameCheck::What;
  const std::string& name = check.token.text;
  bool any = check.what == What::kAny;
  if ((any || check.what == What::kComm) && comms_.count(name)) return true;
  if ((any || check.what == What::kOperation) && kernels_.count(name)) return true;
  if (check.what == What::kSite && IsRankName(name)) return true;
  auto named = [&](const auto& entry) { return entry.first.second == name; };
  if (any && std::any_of(flags_.begin(), flags_.end(), named)) return true;
  if (any && std::any_of(events_.begin(), events_.end(), named)) return true;
  for (const auto& [rank, scope] : ranks_) {
    bool lane = any || check.what == What::kSite || check.what == What::kLane;
    bool label = any || check.what == What::kSite || check.what == What::kOperation;
    if (lane && scope.IsLane(name)) return true;
    if (label && scope.labels.count(name)) return true;
    if ((any || check.what == What::kBuffer) && scope.buffers.count(name)) return true;
  }
  return false;
}

}  // namespace ss::litmus
