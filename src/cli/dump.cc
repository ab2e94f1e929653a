// `streamsan dump`: the records of a trace, one a line, on standard output.
#include "src/trace/dump.h"

#include "src/cli/options.h"
#include "src/cli/output.h"

namespace ss {

int DumpCommand(const DumpCommandOptions& options) {
  Result<trace::TraceReader> reader = trace::TraceReader::Open(options.path);
  if (!reader) return Complain(reader.error());
  bool whole = trace::DumpTrace(*reader, stdout);
  return whole ? kExitOk : kExitUsage;
}

}  // namespace ss
