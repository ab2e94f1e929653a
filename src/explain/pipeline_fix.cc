#include "src/explain/pipeline_fix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace ss {
namespace {

using pipeline::Finding;
using pipeline::OpKind;
using pipeline::Protocol;

using Key = std::tuple<std::string, std::string, std::string, std::string>;

std::set<Key> KeysOf(const pipeline::Verdict& verdict) {
  std::set<Key> keys;
  for (const Finding& finding : verdict.findings) {
    if (!finding.absorbed)
      keys.insert({finding.code, finding.subject, finding.role, finding.other});
  }
  return keys;
}

struct Deletion {
  Protocol protocol;
  std::string text;
};

class Fixer {
 public:
  Fixer(const pipeline::Program& program, const pipeline::Verdict& verdict,
        const pipeline::CheckOptions& options)
      : protocol_(*program.protocol), options_(options), before_(KeysOf(verdict)) {}

  std::vector<PipelineFix> Fixes(const Finding& finding, const pipeline::Verdict& verdict) const {
    // Only a stranger's operations may go: to delete a declared side's would hide what is wrong.
    // What hangs may be what a stranger broke.
    std::vector<const Finding*> suspects;
    for (const Finding& other : verdict.findings) {
      if (other.code != "pipeline-owner") continue;
      suspects.insert(&other == &finding ? suspects.begin() : suspects.end(), &other);
    }
    std::vector<PipelineFix> fixes;
    for (const Finding* suspect : suspects) {
      for (const std::set<OpKind>& kinds : Sides()) {
        Try(finding, Delete(suspect->role, suspect->subject, kinds), fixes);
        if (!fixes.empty()) return fixes;
      }
    }
    return fixes;
  }

 private:
  // The least first.
  static std::vector<std::set<OpKind>> Sides() {
    return {{OpKind::kTail, OpKind::kTailLast},
            {OpKind::kAcquire, OpKind::kTail, OpKind::kTailLast, OpKind::kCommit},
            {OpKind::kWait, OpKind::kRelease},
            {OpKind::kRelease}};
  }

  Deletion Delete(const std::string& role_name, const std::string& pipe,
                  const std::set<OpKind>& kinds) const {
    Deletion deletion{protocol_, ""};
    for (pipeline::Role& role : deletion.protocol.roles) {
      if (role.name != role_name) continue;
      std::set<uint32_t> lines;
      std::vector<std::string> words;
      auto is_one = [&](const pipeline::Op& op) {
        return kinds.count(op.kind) != 0 && protocol_.pipes[op.target].name == pipe;
      };
      for (const pipeline::Op& op : role.ops) {
        if (!is_one(op)) continue;
        lines.insert(op.line);
        const std::string text = pipeline::Text(protocol_, op);
        if (std::find(words.begin(), words.end(), text) == words.end()) words.push_back(text);
      }
      if (lines.empty()) return {};
      std::erase_if(role.ops, is_one);
      deletion.text = fmt::format("delete {} from role {} (line{} {})", fmt::join(words, ", "),
                                  role.name, lines.size() == 1 ? "" : "s", fmt::join(lines, ", "));
    }
    return deletion;
  }

  void Try(const Finding& finding, const Deletion& deletion,
           std::vector<PipelineFix>& fixes) const {
    if (deletion.text.empty()) return;
    const pipeline::Program program = pipeline::Lower(deletion.protocol);
    const pipeline::Verdict verdict = pipeline::Check(program, options_);
    const std::set<Key> after = KeysOf(verdict);
    const Key key{finding.code, finding.subject, finding.role, finding.other};
    const bool nothing_new =
        std::includes(before_.begin(), before_.end(), after.begin(), after.end());
    if (!verdict.exhaustive || after.count(key) != 0 || !nothing_new) return;
    fixes.push_back({deletion.text, before_.size() - after.size() - 1});
  }

  const Protocol& protocol_;
  const pipeline::CheckOptions& options_;
  const std::set<Key> before_;
};

}  // namespace

std::vector<PipelineFix> PipelineFixes(const pipeline::Program& program,
                                       const pipeline::Verdict& verdict, const Finding& finding,
                                       const pipeline::CheckOptions& options) {
  return Fixer(program, verdict, options).Fixes(finding, verdict);
}

}  // namespace ss
