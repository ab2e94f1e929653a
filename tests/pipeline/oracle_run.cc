// The exploration: breadth does not matter, so it is a stack and a set.
#include <set>
#include <unordered_set>

#include "tests/pipeline/oracle.h"

namespace ss::pipeline::oracle {
namespace {

std::string Key(const World& world) {
  std::string key;
  auto add = [&](int64_t value) {
    auto bits = static_cast<uint64_t>(value);
    for (; bits >= 0x80; bits >>= 7) key.push_back(static_cast<char>(bits | 0x80));
    key.push_back(static_cast<char>(bits));
  };
  for (const Place& place : world.places) {
    add(place.op);
    add(place.part);
    add(place.generation);
  }
  for (const Word& word : world.words) {
    add(word.phases);
    add(word.pending);
    add(word.tx);
    add(word.expected);
  }
  return key;
}

}  // namespace

bool Oracle::Conflict(uint32_t agent, const Touch& one, uint32_t other_agent,
                      const Touch& other) const {
  if (role_of_[agent] == role_of_[other_agent]) return false;
  if (one.pipe != other.pipe || one.stage != other.stage) return false;
  if (!one.write && !other.write) return false;
  const Side& producers = protocol_.pipes[one.pipe].producers;
  const bool parts = producers.Has(role_of_[agent]) && producers.Has(role_of_[other_agent]);
  return !(one.write && other.write && parts);
}

void Oracle::Note(const World& world, Truth& truth) const {
  for (uint32_t a = 0; a < agents(); ++a) {
    if (std::optional<Ahead> wait = WaitAhead(world, a); wait && wait->parity) {
      const int64_t phases = world.words[wait->word].phases;
      if (phases > wait->lap) truth.overtaken.insert({wait->subject, RoleName(a)});
      if (phases < wait->lap - 1 && CanStep(world, a))
        truth.early.insert({wait->subject, RoleName(a)});
    }
    std::optional<Touch> one = TouchAhead(world, a);
    for (uint32_t b = 0; one && b < a; ++b) {
      std::optional<Touch> other = TouchAhead(world, b);
      if (!other || !Conflict(a, *one, b, *other)) continue;
      truth.races.insert({protocol_.pipes[one->pipe].name, std::min(RoleName(a), RoleName(b)),
                          std::max(RoleName(a), RoleName(b))});
    }
  }
}

Truth Oracle::Explore(uint64_t max_states) const {
  Truth truth;
  std::unordered_set<std::string> seen;
  std::vector<World> open;
  auto enter = [&](World world) {
    if (seen.insert(Key(world)).second) open.push_back(std::move(world));
  };
  enter(Start());
  while (!open.empty()) {
    if (seen.size() > max_states) {
      truth.complete = false;
      break;
    }
    const World world = std::move(open.back());
    open.pop_back();
    Note(world, truth);
    bool moved = false;
    Names stuck;
    for (uint32_t agent = 0; agent < agents(); ++agent) {
      if (!AtEnd(world, agent)) stuck.insert(RoleName(agent));
      if (!CanStep(world, agent)) continue;
      moved = true;
      enter(Step(world, agent));
    }
    if (!moved && !stuck.empty()) truth.stuck.insert(stuck);
  }
  truth.states = seen.size();
  return truth;
}

}  // namespace ss::pipeline::oracle
