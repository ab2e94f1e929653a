// Switches that a test build turns off one at a time, to prove that some case notices
// (docs/semantics.md). In every other build RuleOn() is the constant true. A table apart from
// src/model/rules.h: the two engines share no rule.
#pragma once

#include <cstdint>

#include "src/base/rule.h"

namespace ss::pipeline {

#define SS_PIPELINE_RULES(X)                                                               \
  X(ArrivalsCounted, "25a", "a phase needs its number of arrivals")                        \
  X(TxHoldsBack, "25b", "a phase is held back until its bytes are there")                  \
  X(DropLowers, "25c", "arrive_drop lowers what later phases expect")                      \
  X(FreshBarrier, "25d", "a fresh barrier lets parity 1 pass")                             \
  X(AwaitLeastPhase, "25e", "a raw wait needs the least phase from its last one on")       \
  X(IndexWraps, "26a", "the state's index wraps at the number of stages")                  \
  X(TailAllStages, "26b", "tail waits for every stage")                                    \
  X(TailLastStage, "26c", "the older tail waits for the last stage used")                  \
  X(AdvanceMoves, "26d", "advance moves the declared side's state")                        \
  X(EarlyAlias, "27a", "a wait passes two phases too early")                               \
  X(Overtaken, "27b", "a barrier completes a further phase under a waiting role")          \
  X(ParityHangs, "27c", "a wait that was overtaken by one phase does not pass")            \
  X(BarrierOrders, "27d", "a wait is ordered after the arrivals of its phase and no more") \
  X(StrangerActs, "28a", "a role acts on a side that it is not declared on")               \
  X(NeverCommits, "28b", "a producer waits for slots and leaves the commits to others")    \
  X(ReleasesUnwaited, "28c", "a consumer releases what it never waited for")               \
  X(SkippingIsFine, "29a", "a bare advance is no fault")                                   \
  X(PartsOfOneStage, "29b", "declared producers' writes are parts of one stage")           \
  X(IdleProducerIsFine, "29c", "a producer may tail a pipeline that nobody uses")          \
  X(SyncWaits, "30a", "sync on a named barrier waits for its generation")                  \
  X(ArriveWaitsNot, "30b", "arrive on a named barrier does not wait")                      \
  X(CyclesHang, "30c", "roles that wait for each other never get on")

enum class Rule : uint8_t { SS_PIPELINE_RULES(SS_RULE_NAME) kCount };

const RuleInfo& Info(Rule rule);

#ifdef STREAMSAN_BREAK_RULES
inline bool RuleOn(Rule rule) { return RuleStands(Info(rule)); }
#else
constexpr bool RuleOn(Rule) { return true; }
#endif

}  // namespace ss::pipeline
