// A `.pipe` file as plain data: the roles of one kernel (warp groups), the mbarrier pipelines
// between them, and what a checker must say about it. The language is in docs/litmus.md, the rules
// in docs/semantics.md (25-30).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace ss::pipeline {

enum class OpKind : uint8_t {
  kAcquire,     // producer waits for the slot to be empty
  kCommit,      // producer: the slot is full; its state moves on
  kWait,        // consumer waits for the slot to be full
  kRelease,     // consumer: the slot is empty; its state moves on
  kTail,        // S acquires' waits
  kTailLast,    // one wait, on the last stage used (CuTe DSL up to 4.5)
  kAdvance,     // the declared side's state moves on, no barrier is touched
  kRead,        // of the current stage's buffer
  kWrite,       //
  kSync,        // named barrier: arrive and wait
  kBarArrive,   // named barrier: arrive only
  kArrive,      // mbarrier, `count` arrivals
  kArriveDrop,  // the same, and that many fewer are expected from the next phase on
  kExpectTx,    // `count` more bytes
  kCompleteTx,  // `count` fewer
  kAwait,       // mbarrier, parity `count`
  kDelay,       // nothing; a hint to the reader that the role may come late
};

struct Op {
  OpKind kind{};
  uint32_t target = 0;  // index into pipes, mbars or bars, by kind
  uint32_t count = 0;
  uint32_t line = 0, column = 0;
};

struct Role {
  std::string name;
  uint32_t warps = 1;   // agents: each runs `ops` with states of its own
  std::vector<Op> ops;  // loops unrolled
  uint32_t line = 0;
};

struct Side {
  std::vector<uint32_t> roles;
  uint32_t arrivals = 0;  // a phase of its barrier
  bool Has(uint32_t role) const;
};

struct Pipe {
  std::string name;
  uint32_t stages = 1;
  Side producers;  // arrive on full
  Side consumers;  // arrive on empty
  uint32_t line = 0;
};

struct Mbar {
  std::string name;
  uint32_t arrivals = 1;
};

struct NamedBarrier {
  std::string name;     // or "0" to "15"
  uint32_t agents = 0;  // the same at every use
};

struct Expectation {
  std::string code;     // "" = expect none
  std::string subject;  // pipeline or mbarrier; "" for pipeline-deadlock
  std::string role, other;
  uint32_t line = 0;
};

struct Protocol {
  std::string title;
  std::vector<Role> roles;
  std::vector<Pipe> pipes;
  std::vector<Mbar> mbars;
  std::vector<NamedBarrier> bars;
  std::vector<Expectation> expectations;
};

// Bounds that keep a hostile file from taking the machine; the parser refuses what is beyond.
constexpr uint32_t kMaxStages = 64;
constexpr uint32_t kMaxAgents = 64;
constexpr uint32_t kMaxBarriers = 1024;  // two a stage, mbarriers, named barriers
constexpr uint32_t kMaxOps = 200'000;    // unrolled, of all agents; a tail counts as its stages

// Errors: place "FILE:L:C", message "found 'X', expected Y".
Result<Protocol> ParseProtocol(std::string_view text, const std::string& file_name);

const char* Word(OpKind kind);

// "acquire load_k", "await full 1": as the file says it.
std::string Text(const Protocol& protocol, const Op& op);

}  // namespace ss::pipeline
