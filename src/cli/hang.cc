// `streamsan hang CORE`: who waits for which mbarrier in a GPU core dump. No instrumentation: the
// dump is asked for while the kernel hangs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/kernels/core.h"
#include "src/pipeline/log_format.h"
#include "src/report/words.h"

namespace ss {
namespace {

// Known to be closed for the wait: it has the parity that it must not have.
bool IsClosed(const kernels::CoreGroup& group) {
  return group.wait && group.word && pipeline::WordParity(*group.word) == group.wait->parity;
}

std::string BarrierText(const kernels::CoreGroup& group) {
  if (!group.word) return "it could not be read, open or closed";
  const uint64_t word = *group.word;
  std::string text = fmt::format("{} of {} arrivals of its phase are missing",
                                 pipeline::WordPending(word), pipeline::WordExpected(word));
  if (pipeline::WordAwaitsBytes(word)) text += ", and bytes of copies";
  return text + (IsClosed(group) ? "; the parity is the one that it must not have: closed"
                                 : "; open: the warp was about to go on");
}

uint64_t Print(const kernels::CoreReport& report) {
  uint64_t stuck = 0;
  std::string out;
  for (const std::string& line : report.kernels) out += line + "\n";
  for (const kernels::CoreGroup& group : report.groups) {
    out += fmt::format("\n{} of {} at 0x{:x}, as block {} thread {}\n",
                       Counted(group.warps, "warp"), Counted(group.blocks, "block"), group.pc,
                       group.example.block, group.example.thread);
    if (!group.wait) {
      out += "  no wait for an mbarrier is near\n";
      continue;
    }
    const bool closed = IsClosed(group);
    stuck += closed;
    out += fmt::format("  {}wait{} for mbarrier 0x{:x} with parity {}: {}\n  {}: {}\n",
                       closed ? "stuck: " : "", group.warps == 1 ? "s" : "", group.wait->barrier,
                       group.wait->parity, BarrierText(group), group.wait->function,
                       group.wait->instruction);
  }
  if (report.unread)
    out +=
        fmt::format("\n{} at further places were not looked at\n", Counted(report.unread, "warp"));
  fmt::print("{}\n{} at a closed mbarrier\n", out, Counted(stuck, "group"));
  return stuck;
}

}  // namespace

int HangCommand(const HangCommandOptions& options) {
  Result<kernels::CoreReport> report = kernels::ReadCore(options.path);
  if (!report) return Complain(report.error());
  return Print(*report) ? kExitHazard : kExitOk;
}

}  // namespace ss
