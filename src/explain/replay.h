// The program once more, with edits: how a fix is verified and what an ablation asks.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "src/detect/checker.h"
#include "src/program/op.h"

namespace ss {

// A recorded operation sequence: a Program's, or what an Analysis has kept.
struct Tape {
  const Program* names = nullptr;  // strings, event names
  const std::vector<Op>* ops = nullptr;
  const std::vector<Access>* accesses = nullptr;
  bool crosses = false;  // has signals or collectives: walked until their clocks settle

  const Access* AccessesOf(const Op& op) const { return accesses->data() + op.access_begin; }
};

struct Edit {
  struct Insertion {
    size_t before = 0;  // position in the tape; its size: at the end
    Op op;              // its accesses, if any, are the tape's
  };
  std::vector<Insertion> insertions;  // in any order; equal positions keep theirs
  std::set<size_t> removals;
  struct FlagChange {
    size_t at = 0;
    uint32_t set = 0, clear = 0;
  };
  std::vector<FlagChange> flags;
};

// The edit's insertions and flag changes by position, as ForEachEdited wants them.
void Sort(Edit* edit);

// Calls `take(op, accesses)` with every operation of the edited program.
template <typename Take>
void ForEachEdited(const Tape& tape, const Edit& edit, Take take) {
  auto insertion = edit.insertions.begin();
  auto change = edit.flags.begin();
  for (size_t i = 0; i < tape.ops->size(); ++i) {
    for (; insertion != edit.insertions.end() && insertion->before <= i; ++insertion) {
      take(insertion->op, tape.AccessesOf(insertion->op));
    }
    if (edit.removals.contains(i)) continue;
    Op op = (*tape.ops)[i];
    for (; change != edit.flags.end() && change->at <= i; ++change) {
      if (change->at == i) op.flags = (op.flags & ~change->clear) | change->set;
    }
    take(op, tape.AccessesOf(op));
  }
  for (; insertion != edit.insertions.end(); ++insertion) {
    take(insertion->op, tape.AccessesOf(insertion->op));
  }
}

CheckResult Replay(const Tape& tape, const CheckOptions& options, Edit edit);

// An EventId that the program does not use, nor any above it.
EventId FirstFreeEvent(const Tape& tape);

// Keys of the reported findings of a result.
std::set<std::string> ReportedKeys(const CheckResult& result);

}  // namespace ss
