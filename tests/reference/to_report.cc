// The verdict as a Report, for the litmus matcher.
#include "tests/reference/reference.h"

namespace ss::reference {
namespace {

class Namer {
 public:
  explicit Namer(const Program& program) : program_(program) {
    for (const Op& op : program.ops) {
      const std::string& name = program.strings.Get(op.name);
      if (op.kind == OpKind::kHostBegin) hosts_[op.host] = name;
      if (op.kind == OpKind::kStreamCreate) streams_[op.stream] = {name, op.aux};
    }
  }

  Site SiteOf(size_t index) const {
    const Op& op = program_.ops[index];
    Site site;
    site.op = op.id;
    site.index = index;
    site.kind = op.kind;
    site.name = program_.strings.Get(op.name);
    site.label = program_.strings.Get(op.label);
    site.host = Host(op.host);
    site.lane = Lane(op);
    site.stream = op.stream;
    site.host_id = op.host;
    site.line = op.line;
    return site;
  }

 private:
  std::string Host(HostId host) const {
    auto it = hosts_.find(host);
    return it == hosts_.end() ? "main" : it->second;
  }

  std::string Lane(const Op& op) const {
    auto it = streams_.find(op.stream);
    if (it == streams_.end() || op.kind == OpKind::kFree) return Host(op.host);
    const auto& [name, type] = it->second;
    const bool elsewhere =
        static_cast<StreamType>(type) == StreamType::kPerThread && Host(op.host) != "main";
    return elsewhere ? name + "@" + Host(op.host) : name;
  }

  const Program& program_;
  std::map<HostId, std::string> hosts_;
  std::map<StreamId, std::pair<std::string, uint32_t>> streams_;
};

}  // namespace

Report ToReport(const Program& program, const Verdict& verdict) {
  const Namer namer(program);
  Report report;
  report.program = program.source;
  for (const Hazard& hazard : verdict.hazards) {
    Finding finding;
    finding.code = hazard.code;
    finding.struck = hazard.struck;
    finding.absorbed = hazard.absorbed;
    finding.buffer.name = hazard.buffer;
    finding.first = namer.SiteOf(hazard.first);
    finding.second = namer.SiteOf(hazard.second);
    report.findings.push_back(finding);
  }
  for (const Remark& remark : verdict.remarks) {
    Advice advice;
    advice.code = remark.code;
    advice.subject = remark.subject;
    if (!remark.alias.empty()) advice.aliases.push_back(remark.alias);
    advice.site = namer.SiteOf(remark.op);
    report.advice.push_back(advice);
  }
  return report;
}

}  // namespace ss::reference
