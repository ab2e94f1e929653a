#include "tests/pipeline/oracle.h"

#include <algorithm>
#include <set>

namespace ss::pipeline::oracle {

void Oracle::Cursor::Next(uint32_t stages) {
  if (++index < stages) return;
  index = 0;
  phase ^= 1;
  ++lap;
}

Oracle::Oracle(const Protocol& protocol) : protocol_(protocol) {
  auto word = [&](int64_t count) { fresh_.push_back({0, count, 0, count}); };
  for (const Pipe& pipe : protocol.pipes) {
    full_.push_back(static_cast<uint32_t>(fresh_.size()));
    for (uint32_t i = 0; i < pipe.stages; ++i) word(pipe.producers.arrivals);
    for (uint32_t i = 0; i < pipe.stages; ++i) word(pipe.consumers.arrivals);
  }
  mbar_word_ = static_cast<uint32_t>(fresh_.size());
  for (const Mbar& mbar : protocol.mbars) word(mbar.arrivals);
  bar_word_ = static_cast<uint32_t>(fresh_.size());
  for (const NamedBarrier& bar : protocol.bars) word(bar.agents);
  for (uint32_t role = 0; role < protocol.roles.size(); ++role) {
    for (uint32_t i = 0; i < protocol.roles[role].warps; ++i) role_of_.push_back(role);
    Prepare(role);
  }
}

// Rule 26 taken literally: the states of both sides before every operation.
void Oracle::Prepare(uint32_t role) {
  Cursors at;
  at.produce.resize(protocol_.pipes.size());
  at.consume.resize(protocol_.pipes.size());
  for (Cursor& cursor : at.produce) cursor.phase = 1;
  at.seen.resize(protocol_.mbars.size());
  std::vector<Cursors>& before = before_.emplace_back();
  for (const Op& op : protocol_.roles[role].ops) {
    before.push_back(at);
    if (op.kind == OpKind::kAwait) {
      int64_t& seen = at.seen[op.target];
      while (seen % 2 == op.count) ++seen;
    }
    if (op.kind > OpKind::kAdvance) continue;
    const Pipe& pipe = protocol_.pipes[op.target];
    auto move = [&](std::vector<Cursor>& side, uint32_t times) {
      for (uint32_t i = 0; i < times; ++i) side[op.target].Next(pipe.stages);
    };
    bool in = pipe.producers.Has(role), out = pipe.consumers.Has(role);
    if (op.kind == OpKind::kCommit) move(at.produce, 1);
    if (op.kind == OpKind::kRelease) move(at.consume, 1);
    if (op.kind == OpKind::kTail) move(at.produce, pipe.stages);
    if (op.kind == OpKind::kTailLast) move(at.produce, pipe.stages - 1);
    if (op.kind == OpKind::kAdvance) {
      if (in || (!in && !out)) move(at.produce, 1);
      if (out || (!in && !out)) move(at.consume, 1);
    }
  }
}

uint32_t Oracle::EmptyWord(uint32_t pipe, uint32_t index) const {
  return full_[pipe] + protocol_.pipes[pipe].stages + index;
}

World Oracle::Start() const { return {std::vector<Place>(role_of_.size()), fresh_}; }

const std::string& Oracle::RoleName(uint32_t agent) const {
  return protocol_.roles[role_of_[agent]].name;
}

const Op* Oracle::NextOp(const World& world, uint32_t agent) const {
  const std::vector<Op>& ops = protocol_.roles[role_of_[agent]].ops;
  return world.places[agent].op < ops.size() ? &ops[world.places[agent].op] : nullptr;
}

bool Oracle::AtEnd(const World& world, uint32_t agent) const { return !NextOp(world, agent); }

uint32_t Oracle::Parts(const Op& op) const {
  if (op.kind == OpKind::kTail) return protocol_.pipes[op.target].stages;
  return op.kind == OpKind::kSync ? 2 : 1;
}

std::optional<Ahead> Oracle::TailAhead(const Op& op, const Cursors& at, uint32_t part) const {
  Cursor cursor = at.produce[op.target];
  const uint32_t stages = protocol_.pipes[op.target].stages;
  for (uint32_t i = 0; i < part; ++i) cursor.Next(stages);
  return Ahead{EmptyWord(op.target, cursor.index), cursor.lap, true,
               protocol_.pipes[op.target].name};
}

std::optional<Ahead> Oracle::WaitAhead(const World& world, uint32_t agent) const {
  const Op* op = NextOp(world, agent);
  if (!op) return std::nullopt;
  const Place& place = world.places[agent];
  const Cursors& at = before_[role_of_[agent]][place.op];
  switch (op->kind) {
    case OpKind::kAcquire:
    case OpKind::kTail:
      return TailAhead(*op, at, place.part);
    case OpKind::kTailLast:
      return TailAhead(*op, at, protocol_.pipes[op->target].stages - 1);
    case OpKind::kWait: {
      const Cursor& cursor = at.consume[op->target];
      return Ahead{FullWord(op->target, cursor.index), cursor.lap + 1, true,
                   protocol_.pipes[op->target].name};
    }
    case OpKind::kAwait: {
      int64_t lap = at.seen[op->target];
      while (lap % 2 == op->count) ++lap;
      return Ahead{mbar_word_ + op->target, lap, true, protocol_.mbars[op->target].name};
    }
    case OpKind::kSync:
      if (place.part == 0) return std::nullopt;
      return Ahead{bar_word_ + op->target, place.generation, false,
                   protocol_.bars[op->target].name};
    default:
      return std::nullopt;
  }
}

std::optional<Touch> Oracle::TouchAhead(const World& world, uint32_t agent) const {
  const Op* op = NextOp(world, agent);
  if (!op || (op->kind != OpKind::kRead && op->kind != OpKind::kWrite)) return std::nullopt;
  const Pipe& pipe = protocol_.pipes[op->target];
  const uint32_t role = role_of_[agent];
  const bool in = pipe.producers.Has(role), out = pipe.consumers.Has(role);
  const Cursors& at = before_[role][world.places[agent].op];
  const bool write = op->kind == OpKind::kWrite;
  const bool producer = (in && !out) || (in == out && write);
  return Touch{op->target, (producer ? at.produce : at.consume)[op->target].index, write};
}

bool Oracle::CanStep(const World& world, uint32_t agent) const {
  if (AtEnd(world, agent)) return false;
  std::optional<Ahead> wait = WaitAhead(world, agent);
  if (!wait) return true;
  const Word& word = world.words[wait->word];
  if (!wait->parity) return word.phases >= wait->lap;
  // try_wait.parity(P) passes iff k mod 2 != P; a wait for lap L asks with P = (L - 1) mod 2.
  const int64_t parity = (wait->lap + 1) % 2;
  return word.phases % 2 != parity;
}

void Oracle::Arrive(World& world, uint32_t agent, const Op& op) const {
  const Cursors& at = before_[role_of_[agent]][world.places[agent].op];
  uint32_t index = 0;
  switch (op.kind) {
    case OpKind::kCommit:
      index = FullWord(op.target, at.produce[op.target].index);
      break;
    case OpKind::kRelease:
      index = EmptyWord(op.target, at.consume[op.target].index);
      break;
    case OpKind::kSync:
    case OpKind::kBarArrive:
      index = bar_word_ + op.target;
      break;
    case OpKind::kArrive:
    case OpKind::kArriveDrop:
    case OpKind::kExpectTx:
    case OpKind::kCompleteTx:
      index = mbar_word_ + op.target;
      break;
    default:
      return;
  }
  Word& word = world.words[index];
  const int64_t count = index < mbar_word_ || index >= bar_word_ ? 1 : op.count;
  world.places[agent].generation = op.kind == OpKind::kSync ? word.phases + 1 : 0;
  if (op.kind == OpKind::kExpectTx) {
    word.tx += count;
  } else if (op.kind == OpKind::kCompleteTx) {
    word.tx -= count;
  } else {
    word.pending -= count;
  }
  if (op.kind == OpKind::kArriveDrop) word.expected -= count;
  bool again = word.tx == 0;
  while (again && word.pending <= 0) {
    word.phases += 1;
    word.pending += word.expected;
    again = word.expected > 0;
  }
}

World Oracle::Step(const World& world, uint32_t agent) const {
  World next = world;
  const Op& op = *NextOp(world, agent);
  Place& place = next.places[agent];
  if (place.part == 0) Arrive(next, agent, op);
  if (++place.part == Parts(op)) place = {place.op + 1, 0, 0};
  return next;
}

}  // namespace ss::pipeline::oracle
