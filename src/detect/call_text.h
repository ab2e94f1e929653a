// What ranks issue, in words.
#pragma once

#include <string>

#include "src/program/collectives.h"

namespace ss {

const char* CallName(CollectiveKind kind);
// "allreduce of 4096 bytes, float, sum"
std::string CallText(const CollectiveCall& call);
// The same in all that must agree on the ranks of one operation.
bool CallsAgree(const CollectiveCall& a, const CollectiveCall& b);

}  // namespace ss
