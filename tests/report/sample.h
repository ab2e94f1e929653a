// A hand-made report with every part that a printer can print.
#pragma once

#include "src/program/finding.h"

namespace ss {

inline Site MakeSite(OpId op, OpKind kind, const char* name, const char* lane, const char* access) {
  Site site;
  site.op = op;
  site.index = op;
  site.kind = kind;
  site.name = name;
  site.lane = lane;
  site.host = "main";
  site.access = access;
  site.end = 8 << 20;
  site.line = static_cast<uint32_t>(op % 100);
  return site;
}

inline Finding LifetimeFinding() {
  Finding finding;
  finding.code = "lifetime";
  finding.count = 24;
  finding.struck = true;
  finding.buffer.name = "X";
  finding.buffer.bytes = finding.buffer.end = 8 << 20;
  finding.buffer.owner = "comm";
  finding.buffer.alloc_line = 8;
  finding.first = MakeSite(4182, OpKind::kKernel, "unpermute_bwd", "compute", "read");
  finding.first.direction = Evidence::kAnnotated;
  finding.second = MakeSite(4185, OpKind::kFree, "X", "main", "free");
  finding.reuse = MakeSite(4190, OpKind::kKernel, "fill", "comm", "write");
  finding.edge_from = "compute";
  finding.edge_to = "comm";
  finding.root_cause = "comm last waited for compute at op 4173, before op 4182 was queued.";
  finding.evidence = {"X has no record_stream(compute)."};
  finding.timeline = {MakeSite(4171, OpKind::kKernel, "permute", "compute", "write"),
                      MakeSite(4172, OpKind::kEventRecord, "e1", "compute", ""),
                      MakeSite(4173, OpKind::kStreamWaitEvent, "e1", "comm", ""),
                      MakeSite(4180, OpKind::kKernel, "elsewhere", "copy", "write")};
  Fix record{FixKind::kRecordStream, "compute", "", "X", "", true, 23, "no wait added"};
  Fix guess{FixKind::kHostSync, "", "compute", "", "", false, 0, ""};
  finding.fixes = {record, guess};
  return finding;
}

inline Finding RaceFinding(const char* code) {
  Finding finding;
  finding.code = code;
  finding.severity = Severity::kWarning;
  finding.confidence = Confidence::kLikely;
  finding.buffer.name = "G";
  finding.buffer.bytes = finding.buffer.end = 512;
  finding.first = MakeSite(11, OpKind::kKernel, "grad", "side", "write");
  finding.second = MakeSite(12, OpKind::kCopy, "copy", "reduce", "read");
  finding.second.extent = Evidence::kDeclared;
  return finding;
}

inline Report SampleReport() {
  Report report;
  report.program = "cases/moe.litmus";
  report.title = "A saved tensor goes back too early";
  report.findings = {LifetimeFinding(), RaceFinding("race-raw")};
  Advice advice;
  advice.code = "record-stream-noop";
  advice.subject = "X";
  advice.text = "comm owns X: recording it protects nothing.";
  advice.count = 2;
  advice.site.line = 9;
  report.advice = {advice};
  report.coverage.calls = report.coverage.calls_modelled = 5000;
  report.coverage.launches = 3000;
  report.coverage.launches_resolved = 2999;
  report.stats = {5000, 9000, 4, 0.25};
  return report;
}

}  // namespace ss
