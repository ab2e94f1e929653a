// A trace as text, one line a record: `seq thread Name field=value ...`.
#pragma once

#include <cstdio>
#include <string>

#include "src/trace/reader.h"

namespace ss::trace {

// seq is "before" or "before-after"; numbers from 2^32 on are hexadecimal; text is quoted, blobs
// are hex. What this version's table does not name is printed by `schema`, the one of the trace's
// header, if given.
std::string DumpRecord(const Record& record, const Schema* schema = nullptr);
// All records, then the reader's notes as lines that begin with '#'. False when reading failed.
bool DumpTrace(TraceReader& reader, FILE* out);

// docs/trace-format.md, from the table.
std::string FormatDocument();

}  // namespace ss::trace
