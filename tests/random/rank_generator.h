// Random programs of several ranks: collectives, messages, each other's memory and flags.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/random/generator.h"
#include "tests/random/rng.h"

namespace ss::random {

class RankGenerator {
 public:
  RankGenerator(uint64_t seed, Size size) : rng_(seed), size_(size) {}
  std::vector<std::string> Lines();

 private:
  struct Rank {
    int streams = 0;
    std::vector<std::string> buffers;  // live ones
    std::vector<std::string> freed;    // a block each, which nobody has got yet
  };

  void Declare(int rank);
  void Kernel();
  void Order();
  void Synchronise();
  void Collective();
  void Message();
  void Signal();
  void Block();
  std::vector<std::string> Layout();

  void Emit(int rank, const std::string& line) { lines_.emplace_back(rank, line); }
  void EmitOn(int rank, const std::string& operation) {
    Emit(rank, Stream(rank) + ": " + operation);
  }
  int AnyRank() { return static_cast<int>(rng_.Below(ranks_.size())); }
  int OtherRank(int than);
  std::string Stream(int rank) {
    return "s" + std::to_string(rng_.Between(1, ranks_[rank].streams));
  }
  // A buffer of the rank's own, or sometimes of another one.
  std::string Buffer(int rank, int peers);

  Rng rng_;
  Size size_;
  std::vector<Rank> ranks_;
  std::vector<std::pair<int, std::string>> lines_;  // by time, with the rank
  int names_ = 0;
};

}  // namespace ss::random
