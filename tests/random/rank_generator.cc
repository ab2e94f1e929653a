#include "tests/random/rank_generator.h"

#include <algorithm>

namespace ss::random {

std::vector<std::string> RankGenerator::Lines() {
  ranks_.resize(rng_.Percent(75) ? 2 : 3);
  if (rng_.Percent(50)) Emit(0, rng_.Percent(50) ? "mode strict" : "mode default");
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) Declare(rank);
  using Action = void (RankGenerator::*)();
  const std::vector<Action> actions = {&RankGenerator::Kernel,      &RankGenerator::Order,
                                       &RankGenerator::Synchronise, &RankGenerator::Collective,
                                       &RankGenerator::Message,     &RankGenerator::Signal,
                                       &RankGenerator::Block};
  const std::vector<int> weights = {
      30, 12, 4, rng_.Between(2, 10), rng_.Between(0, 4), rng_.Between(0, 10), rng_.Between(0, 6)};
  const int length = rng_.Between(size_.least + 2, size_.most / 2);
  while (static_cast<int>(lines_.size()) < length) (this->*actions[rng_.Weighted(weights)])();
  return Layout();
}

void RankGenerator::Declare(int rank) {
  ranks_[rank].streams = rng_.Between(2, 3);
  for (int i = 1; i <= ranks_[rank].streams; ++i) Emit(rank, "stream s" + std::to_string(i));
  for (int i = rng_.Between(1, 2); i > 0; --i) {
    ranks_[rank].buffers.push_back("B" + std::to_string(i));
    Emit(rank, "alloc " + ranks_[rank].buffers.back() + " 8K device");
  }
}

int RankGenerator::OtherRank(int than) {
  const int other = static_cast<int>(rng_.Below(ranks_.size() - 1));
  return other < than ? other : other + 1;
}

std::string RankGenerator::Buffer(int rank, int peers) {
  if (!rng_.Percent(peers)) return rng_.Pick(ranks_[rank].buffers);
  const int other = OtherRank(rank);
  return rng_.Pick(ranks_[other].buffers) + "@" + std::to_string(other);
}

void RankGenerator::Kernel() {
  const int rank = AnyRank();
  std::string kernel = "kernel k" + std::to_string(++names_);
  for (int i = rng_.Between(1, 2); i > 0; --i) {
    kernel += rng_.Percent(55) ? " read " : " write ";
    kernel += Buffer(rank, 30);
    if (rng_.Percent(15)) kernel += "[0:4K]";
  }
  EmitOn(rank, kernel);
}

void RankGenerator::Order() {
  const int rank = AnyRank();
  if (rng_.Percent(60)) return EmitOn(rank, "wait_stream " + Stream(rank));
  EmitOn(rank, rng_.Percent(60) ? "record E" : "wait E");
}

void RankGenerator::Synchronise() {
  const int rank = AnyRank();
  Emit(rank, "sync " + Stream(rank));
}

// Now and then somebody does not take part.
void RankGenerator::Collective() {
  const std::string comm = rng_.Percent(70) ? "W" : "V";
  const size_t kind = rng_.Weighted({4, 3, 3, 2});
  const std::string root = std::to_string(AnyRank());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (rng_.Percent(3)) continue;
    std::string operation = "collective " + comm;
    if (kind == 0) operation += " allreduce read " + Buffer(rank, 0) + " write " + Buffer(rank, 0);
    if (kind == 1) operation += " broadcast read " + Buffer(rank, 0) + " root " + root;
    if (kind == 2) operation += " barrier";
    if (kind == 3) operation += " allgather write " + Buffer(rank, 0);
    EmitOn(rank, operation);
  }
}

void RankGenerator::Message() {
  const int from = AnyRank(), to = OtherRank(from);
  EmitOn(from, "collective W send read " + Buffer(from, 0) + " peer " + std::to_string(to));
  if (rng_.Percent(30)) Kernel();
  EmitOn(to, "collective W recv write " + Buffer(to, 0) + " peer " + std::to_string(from));
}

void RankGenerator::Signal() {
  const int from = AnyRank(), to = rng_.Percent(75) ? OtherRank(from) : from;
  const std::string flag = "F" + std::to_string(rng_.Between(1, 2));
  const std::string value =
      " " + std::to_string(rng_.Between(1, 2)) + " rank " + std::to_string(to);
  if (rng_.Percent(85)) {
    EmitOn(from, "signal " + flag + value + (rng_.Percent(10) ? " no_barrier" : ""));
  }
  if (rng_.Percent(40)) Kernel();
  if (rng_.Percent(85)) EmitOn(to, "await " + flag + value);
}

void RankGenerator::Block() {
  const int rank = AnyRank();
  Rank& own = ranks_[rank];
  const bool last = own.buffers.size() == 1;  // somebody may still want to name one
  const bool give = !last && rng_.Percent(own.buffers.back()[0] == 'T' ? 50 : 20);
  if (give) {
    const std::string name = own.buffers.back();
    own.buffers.pop_back();
    if (name[0] == 'T') own.freed.push_back(name);
    return Emit(rank, "free " + name);
  }
  std::string line = "alloc T" + std::to_string(++names_) + " 8K on " + Stream(rank);
  if (!own.freed.empty() && rng_.Percent(70)) {
    line = "alloc T" + std::to_string(names_) + " 8K on s1 reuse " + own.freed.back();
    own.freed.pop_back();
  }
  own.buffers.push_back("T" + std::to_string(names_));
  Emit(rank, line);
}

// As the ranks ran beside each other, or one rank after the other.
std::vector<std::string> RankGenerator::Layout() {
  if (rng_.Percent(50)) {
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::vector<std::string> text;
  int section = 0;
  for (const auto& [rank, line] : lines_) {
    if (rank != section) text.push_back("rank " + std::to_string(rank));
    section = rank;
    text.push_back(line);
  }
  return text;
}

}  // namespace ss::random
