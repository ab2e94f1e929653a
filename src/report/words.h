// Words and numbers as the text report prints them. Every function is pure.
#pragma once

#include <string>
#include <vector>

#include "src/program/finding.h"

namespace ss {

std::string BytesText(uint64_t bytes);                // "8.0 MiB", "512 B"
std::string RangeText(uint64_t begin, uint64_t end);  // "[0:8M]", as in litmus files
std::string LaneText(const Site& site);               // "comm"; among ranks "rank0 comm"
bool IsCollective(const Finding& finding);            // then `buffer` names the communicator
std::string AccessText(const Site& site, const std::string& buffer);  // "reads X[0:8M]", "frees X"
// What a hazard's or an advice's code means, in a few words.
std::string CodeText(const std::string& code);
// Begins with a capital.
std::string Sentence(std::string text);
// What is wrong, in one sentence; `subject` names the buffer with its particulars.
std::string WrongText(const Finding& finding, const std::string& subject);
std::string FixText(const Fix& fix);
// Finding::change, with what it is worth; "" = there is none.
std::string ChangeText(const Finding& finding);
const char* Name(trace::TrialOutcome outcome);  // "confirmed", "waited", ...: as in JSON
// What came of it, in one sentence.
std::string TrialText(const Trial& trial);
// Root cause, then the evidence that is not the same words, as sentences.
std::string WhyText(const Finding& finding);
// The weakest source that the finding rests on, for each axis.
std::string BasisText(const Finding& finding);

// A function's name without its arguments, and without template arguments where it is long.
std::string FunctionText(const std::string& function);
// A kernel's name for a sentence or a column: demangled, without arguments, cut where it is very
// long.
std::string KernelText(const std::string& name);

// "12 hazards", "1 hazard".
std::string Counted(uint64_t count, const std::string& noun);
// Breaks at blanks so that no line is longer than `width`, unless one word is.
std::vector<std::string> Wrap(const std::string& text, size_t width);

}  // namespace ss
