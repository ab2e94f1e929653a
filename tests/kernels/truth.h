// What the kernels of a .cu file really do, from its lines
//   //GT KERNEL: ITEM...        ITEM = WHERE:MODES, MODES of RWA, or "-": a pointer that is not
//   used
// WHERE: 8 or @1+8     the pointer at byte 8 of the parameters, or at byte 8 of the second
// parameter
//        *8            memory that a pointer reached through that word leads to
//        D0-64         table of pointers in bytes 0-64, indexed dynamically; D0-64/16: every 16
//        bytes T@0, DT@0     tensor map (or texture handle) in the parameters; one of several t@0
//        tensor map behind the pointer Gname, *Gname the module's variable; memory behind a pointer
//        in it Ccptr, *Ccptr the same of __constant__
// ITEM may also be POLL: a loop waits for a value to change; EARLY1: the second parameter's memory
// may be touched before the grid-dependency wait.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/kernels/summary.h"

namespace ss::kernels {

struct TruthTable {
  int32_t begin = 0, end = 0, stride = 8;
};

struct Truth {
  std::set<std::pair<std::string, char>> items;  // ("D0", 'R')
  std::set<int32_t> pointer_words;               // words that hold a pointer at a launch
  std::vector<TruthTable> tables;
  std::set<int32_t> early;
  bool polls = false;
};

struct Score {
  int kernels = 0, right = 0, extra = 0, extra_pointers = 0, missing = 0;
  std::vector<std::string> silent;  // wrong, and nothing in the summary says so

  double Precision() const { return right + extra ? double(right) / (right + extra) : 1; }
  // Only words that hold pointers count, as at a launch, where the others lie in no allocation.
  double PrecisionOfPointers() const {
    return right + extra_pointers ? double(right) / (right + extra_pointers) : 1;
  }
  double Recall() const { return right + missing ? double(right) / (right + missing) : 1; }
};

// Kernel -> its truth line, raw; or its line of another kind.
std::map<std::string, std::string> ReadTruth(const std::string& source,
                                             const std::string& kind = "//GT ");

Truth ParseTruth(const std::string& line, const std::vector<Parameter>& params);

void Compare(const KernelSummary& summary, const Truth& truth, Score& score);

}  // namespace ss::kernels
