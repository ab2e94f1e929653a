#include "src/explain/places.h"

#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

namespace ss {
namespace {

using Set = std::vector<size_t>;  // places

class PlaceAblation {
 public:
  PlaceAblation(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
                const HazardCounts& before, Ablation* out)
      : tape_(tape), check_(check), options_(options), before_(before), out_(*out) {}

  void Run() {
    Group();
    Try();
    for (WaitPlace& place : out_.places) {
      for (size_t wait : place.waits) Pass(place, out_.waits[wait]);
    }
    Cost();
    FindMinimal();
  }

 private:
  void Group() {
    std::map<std::tuple<OpKind, StackId, uint32_t>, size_t> known;
    for (size_t i = 0; i < out_.waits.size(); ++i) {
      Wait& wait = out_.waits[i];
      auto [at, fresh] = known.try_emplace({wait.kind, wait.stack, wait.line}, out_.places.size());
      if (fresh) out_.places.emplace_back();
      wait.place = at->second;
      out_.places[at->second].waits.push_back(i);
    }
  }

  // What the place's trial says of each of its waits.
  static void Pass(const WaitPlace& place, Wait& wait) {
    if (place.verdict == WaitVerdict::kRedundant) wait.verdict = WaitVerdict::kRedundant;
    if (place.waits.size() > 1 || place.verdict != WaitVerdict::kLoadBearing) return;
    wait.verdict = WaitVerdict::kLoadBearing;
    wait.hazards = place.hazards;
  }

  Edit Without(const Set& places) const {
    Edit edit;
    for (size_t place : places) {
      for (size_t wait : out_.places[place].waits) TakeOut(tape_, out_.waits[wait].index, &edit);
    }
    return edit;
  }

  uint64_t Affordable() const {
    return std::max<uint64_t>(options_.max_replayed / std::max<size_t>(tape_.ops->size(), 1), 1);
  }

  void Try() {
    std::vector<Unit> units(out_.places.size());
    for (size_t i = 0; i < units.size(); ++i) {
      for (size_t wait : out_.places[i].waits) units[i].indices.push_back(out_.waits[wait].index);
    }
    Settle(tape_, check_, options_, before_, &units);
    for (size_t i = 0; i < units.size(); ++i) {
      out_.places[i].verdict = units[i].verdict;
      out_.places[i].hazards = std::move(units[i].hazards);
    }
  }

  static std::vector<Set> Split(const Set& set, size_t size) {
    std::vector<Set> parts;
    for (size_t i = 0; i < set.size(); i += size) {
      const auto begin = set.begin() + static_cast<ptrdiff_t>(i);
      parts.emplace_back(begin, begin + static_cast<ptrdiff_t>(std::min(size, set.size() - i)));
    }
    return parts;
  }

  void Cost() {
    struct Block {
      uint64_t bytes = 0;
      StreamId owner = 0;
    };
    std::unordered_map<BufferId, Block> known;
    for (const Op& op : *tape_.ops) {
      if (op.kind != OpKind::kAlloc) continue;
      const Access& range = tape_.AccessesOf(op)[0];
      known[op.object] = {range.end - range.begin, op.stream};
    }
    Set redundant;
    for (size_t i = 0; i < out_.places.size(); ++i) {
      if (out_.places[i].verdict == WaitVerdict::kRedundant) redundant.push_back(i);
    }
    left_ = Affordable();
    LostOverlap(redundant, CriticalPath(tape_, {}));
    for (size_t i : redundant) {
      WaitPlace& place = out_.places[i];
      std::set<BufferId> blocks;
      for (size_t wait : place.waits) {
        const Op& op = (*tape_.ops)[out_.waits[wait].index];
        if (op.kind != OpKind::kRecordStream) continue;
        const Block& block = known[op.object];
        if (block.owner == op.stream) {
          ++place.of_owner;
        } else if (blocks.insert(op.object).second) {
          ++place.held_blocks;
          place.held_bytes += block.bytes;
        }
      }
    }
  }

  // Places that cost nothing together cost nothing one by one. Beyond the budget it stays unknown.
  void LostOverlap(const Set& places, const PathCost& as_is) {
    if (places.empty() || left_ == 0) return;
    --left_;
    const PathCost cost = CriticalPath(tape_, Without(places));
    const bool nothing = cost.length == as_is.length && cost.delay == as_is.delay;
    if (!nothing && places.size() > 1) {
      for (const Set& half : Split(places, (places.size() + 1) / 2)) LostOverlap(half, as_is);
      return;
    }
    for (size_t i : places) {
      out_.places[i].path_before = as_is.length;
      out_.places[i].path_after = cost.length;
      out_.places[i].delay = as_is.delay - std::min(as_is.delay, cost.delay);
    }
  }

  // --- as many as can go at once

  void FindMinimal() {
    left_ = Affordable();
    Set candidates;
    for (size_t i = 0; i < out_.places.size(); ++i) {
      if (out_.places[i].verdict == WaitVerdict::kRedundant) candidates.push_back(i);
    }
    // What costs most goes first: it has the best chance.
    std::stable_sort(candidates.begin(), candidates.end(), [&](size_t a, size_t b) {
      const WaitPlace &x = out_.places[a], &y = out_.places[b];
      return std::tuple(x.delay, x.held_bytes) > std::tuple(y.delay, y.held_bytes);
    });
    TakeAway(candidates);
    const std::set<size_t> gone(gone_.begin(), gone_.end());
    for (size_t i = 0; i < out_.places.size(); ++i) {
      if (gone.count(i) == 0) out_.minimal.push_back(i);
    }
  }

  // Whether the program can do without these. Beyond the budget it is taken not to.
  bool Dispensable(const Set& places) {
    if (left_ == 0) {
      out_.minimal_whole = false;
      return false;
    }
    --left_;
    return NewHazards(Replay(tape_, check_, Without(places)), before_, options_.min_confidence)
        .empty();
  }

  static Set Joined(Set a, const Set& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  void TakeAway(const Set& places) {
    if (places.empty()) return;
    if (Dispensable(Joined(gone_, places))) {
      gone_ = Joined(gone_, places);
    } else if (places.size() == 1) {
      if (left_ > 0) out_.places[places[0]].not_without = Partners(places[0]);
    } else {
      for (const Set& half : Split(places, (places.size() + 1) / 2)) TakeAway(half);
    }
  }

  // The fewest of those that are gone already that this one has to stay for, by halving.
  Set Partners(size_t place) {
    Set suspects = gone_;
    while (suspects.size() > 1) {
      bool narrowed = false;
      for (const Set& half : Split(suspects, (suspects.size() + 1) / 2)) {
        if (Dispensable(Joined(half, {place}))) continue;
        suspects = half;
        narrowed = true;
        break;
      }
      if (!narrowed) break;
    }
    return suspects;
  }

  const Tape& tape_;
  const CheckOptions& check_;
  const AblateOptions& options_;
  const HazardCounts& before_;
  Ablation& out_;
  Set gone_;
  uint64_t left_ = 0;
};

}  // namespace

void AblatePlaces(const Tape& tape, const CheckOptions& check, const AblateOptions& options,
                  const HazardCounts& before, Ablation* ablation) {
  PlaceAblation(tape, check, options, before, ablation).Run();
}

}  // namespace ss
