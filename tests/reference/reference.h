// The brute-force reference: what a correct checker must say about a program, worked out on an
// explicit graph (timeline.h), pair by pair. It exists to disagree with the engine, so it shares
// the operations (src/program) with it and nothing else.
//
// Conventions, where docs/semantics.md and docs/litmus.md leave a choice:
//  - Operations are judged in program order. For one second operation and one buffer (the newest
//    tenant of the bytes) the earlier conflicting operations are taken latest first. A reported
//    pair (a, b) assumes, for this buffer and later tenants of its bytes, an edge from everything
//    queued so far on a's lane to b: earlier candidates that it covers are absorbed. An unordered
//    pool allocation is a candidate like an access.
//  - At a free, uncovered uses likewise; what is queued on the use's lane is then known to the
//  owner.
//  - A freed caching block is judged at the next allocation of the same owner and pool that is no
//    larger, or that takes its storage; uses that the owner's frontier (where the storage goes to
//    another stream: that one's) or the allocating thread covers by then are withdrawn before any
//    of them absorbs another. Where only an incidental synchronisation covers them by then, that is
//    advice.
//  - Uses that a lifetime finding reported or absorbed do not race with later tenants; a write
//  among them
//    hides what it replaced, a reading the earlier ones of the same bytes and lane. Nor do those
//    race that the allocator (record_stream), the freeing or the allocating thread, or in the
//    default mode any thread before the free, knew to be complete: nothing can be done to a tenant
//    before its allocation.
//  - A use after the free is one finding a lane; what the free had settled does not race with it.
//  - Earlier tenants of pool memory (cudaMallocAsync) never race with later ones: rule 17 judges
//  both
//    ends of a tenancy.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/program/finding.h"
#include "src/program/op.h"
#include "tests/reference/timeline.h"

namespace ss::reference {

struct Hazard {
  std::string code;
  std::string buffer;
  size_t first = 0, second = 0;  // positions in Program::ops
  bool struck = false;
  bool absorbed = false;  // settled by an earlier finding's edge
};

struct Remark {
  std::string code;
  std::string subject;
  std::string alias;  // the waiting stream of a wait; "" = none
  size_t op = 0;
};

struct Verdict {
  std::vector<Hazard> hazards;
  std::vector<Remark> remarks;
  std::map<std::string, int> exercised;  // rule -> how often it came into play
  bool settled = true;  // false: the order through signals goes round in circles, and is none
};

// Is the rule (its number in docs/semantics.md) part of the reference?
bool Models(int rule);

Verdict Judge(const Program& program);

// The same as the report that the litmus matcher takes. Fixes are not part of it.
Report ToReport(const Program& program, const Verdict& verdict);

}  // namespace ss::reference
