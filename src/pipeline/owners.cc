#include "src/pipeline/owners.h"

#include <fmt/format.h>

#include <map>

#include "src/pipeline/rules.h"

namespace ss::pipeline {
namespace {

// What a role does with one pipeline.
struct Deeds {
  std::map<OpKind, const Op*> first;

  const Op* Get(OpKind kind) const {
    auto it = first.find(kind);
    return it == first.end() ? nullptr : it->second;
  }
  const Op* AnyOf(std::initializer_list<OpKind> kinds) const {
    const Op* found = nullptr;
    for (OpKind kind : kinds) {
      const Op* op = Get(kind);
      if (op && (!found || op->line < found->line)) found = op;
    }
    return found;
  }
  const Op* WaitsEmpty() const {
    return AnyOf({OpKind::kAcquire, OpKind::kTail, OpKind::kTailLast});
  }
};

class Owners {
 public:
  explicit Owners(const Program& program) : protocol_(*program.protocol) {
    deeds_.resize(protocol_.pipes.size(), std::vector<Deeds>(protocol_.roles.size()));
    for (uint32_t role = 0; role < protocol_.roles.size(); ++role) {
      for (const Op& op : protocol_.roles[role].ops) {
        if (op.kind <= OpKind::kWrite) deeds_[op.target][role].first.try_emplace(op.kind, &op);
      }
    }
  }

  std::vector<Finding> Run() {
    for (uint32_t pipe = 0; pipe < protocol_.pipes.size(); ++pipe) {
      for (uint32_t role = 0; role < protocol_.roles.size(); ++role) Judge(pipe, role);
    }
    return std::move(findings_);
  }

 private:
  void Judge(uint32_t pipe, uint32_t role) {
    const Pipe& sides = protocol_.pipes[pipe];
    const Deeds& deeds = deeds_[pipe][role];
    const Op* waits_empty = deeds.WaitsEmpty();
    const Op* produces =
        deeds.AnyOf({OpKind::kAcquire, OpKind::kCommit, OpKind::kTail, OpKind::kTailLast});
    const Op* consumes = deeds.AnyOf({OpKind::kWait, OpKind::kRelease});
    if (!RuleOn(Rule::kSkippingIsFine) && deeds.Get(OpKind::kAdvance))
      produces = consumes = deeds.Get(OpKind::kAdvance);
    const bool strangers = RuleOn(Rule::kStrangerActs);
    if (strangers && produces && !sides.producers.Has(role)) {
      Add(pipe, role, *produces, "its producers are", sides.producers);
    } else if (strangers && consumes && !sides.consumers.Has(role)) {
      Add(pipe, role, *consumes, "its consumers are", sides.consumers);
    } else if (!RuleOn(Rule::kSkippingIsFine) && produces && produces->kind == OpKind::kAdvance) {
      Add(pipe, role, *produces, "it skips; its producers are", sides.producers);
    } else if (waits_empty && !deeds.Get(OpKind::kCommit) && OthersCommit(pipe, role) &&
               RuleOn(Rule::kNeverCommits)) {
      Add(pipe, role, *waits_empty, "it never commits; those who do are", Committers(pipe, role));
    } else if (deeds.Get(OpKind::kRelease) && !deeds.Get(OpKind::kWait) &&
               RuleOn(Rule::kReleasesUnwaited)) {
      Add(pipe, role, *deeds.Get(OpKind::kRelease),
          "it never waits for what it releases; consumers are", sides.consumers);
    }
  }

  bool OthersCommit(uint32_t pipe, uint32_t role) const {
    return !RuleOn(Rule::kIdleProducerIsFine) || !Committers(pipe, role).roles.empty();
  }

  Side Committers(uint32_t pipe, uint32_t role) const {
    Side side;
    for (uint32_t other = 0; other < deeds_[pipe].size(); ++other) {
      if (other != role && deeds_[pipe][other].Get(OpKind::kCommit)) side.roles.push_back(other);
    }
    return side;
  }

  void Add(uint32_t pipe, uint32_t role, const Op& op, const char* why, const Side& side) {
    std::string names;
    for (uint32_t other : side.roles)
      names += (names.empty() ? "" : ", ") + protocol_.roles[other].name;
    Finding finding;
    finding.code = "pipeline-owner";
    finding.subject = protocol_.pipes[pipe].name;
    finding.role = protocol_.roles[role].name;
    finding.line = op.line;
    finding.column = op.column;
    finding.scheduled = false;
    finding.text = fmt::format("Role {} calls {} on {}: {} {}.", finding.role, Word(op.kind),
                               finding.subject, why, names);
    if (deeds_[pipe][role].WaitsEmpty() && !deeds_[pipe][role].Get(OpKind::kCommit)) {
      finding.text +=
          " It waits on the empty side with a state that no commit ever moves: whether that passes "
          "depends on how many releases are complete when it looks.";
    }
    findings_.push_back(std::move(finding));
  }

  const Protocol& protocol_;
  std::vector<std::vector<Deeds>> deeds_;  // a pipe, a role
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> FindStrangers(const Program& program) { return Owners(program).Run(); }

}  // namespace ss::pipeline
