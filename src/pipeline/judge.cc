#include "src/pipeline/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/pipeline/room.h"
#include "src/pipeline/stuck.h"
#include "src/pipeline/wording.h"

namespace ss::pipeline {
namespace {

std::string Names(const SeenKernel& kernel, const std::vector<uint32_t>& roles) {
  std::string text;
  for (uint32_t role : roles) text += (text.empty() ? "" : ", ") + kernel.roles[role].name;
  return text;
}

class Judging {
 public:
  Judging(const Recording& recording, const std::vector<const RecordedLaunch*>& launches,
          size_t kernel, Observation& seen)
      : recording_(recording),
        launches_(launches),
        index_(kernel),
        kernel_(seen.kernels[kernel]),
        seen_(seen) {
    for (const SeenPair& pair : kernel_.pairs) {
      // Which side is which cannot be told where both begin as producers; whose partner it is,
      // where arrivals were not seen.
      const bool oriented = pair.oriented && !pair.both_open && kernel_.Unseen().empty();
      const bool bytes = kernel_.barriers.at(pair.full).bytes;
      const bool staged = Stages(pair) > 1;
      sides_[pair.full] = {pair.empty, oriented, oriented, pair.given_first, bytes, staged};
      sides_[pair.empty] = {pair.full, oriented, false, pair.given_first, bytes, staged};
    }
    for (const auto& [offset, barrier] : kernel_.barriers)
      arrivals_[offset] = {barrier.arrivals, barrier.expected};
    for (uint32_t role = 0; role < kernel_.roles.size(); ++role) {
      for (uint32_t warp : kernel_.roles[role].warps) role_of_[warp] = role;
    }
  }

  void Run() {
    for (const RecordedLaunch* launch : launches_) Replay(*launch);
    FindStrangers();
    FindBothOpen();
    for (SeenFinding& finding : FindStuck(recording_, launches_, kernel_, rooms_))
      Add(std::move(finding));
  }

 private:
  // Of the pipeline that it belongs to: pairs between the same roles.
  size_t Stages(const SeenPair& pair) const {
    return std::count_if(kernel_.pairs.begin(), kernel_.pairs.end(), [&](const SeenPair& other) {
      return other.producers == pair.producers && other.consumers == pair.consumers;
    });
  }

  using RoleBarrier = std::pair<uint32_t, uint32_t>;

  void Replay(const RecordedLaunch& launch) {
    std::map<uint32_t, Room> rooms;
    ahead_.clear();
    for (const LogRecord& record : launch.records) {
      const uint32_t number = RoomOf(launch, record.block);
      Room& room = rooms.try_emplace(number, launch, sides_, arrivals_).first->second;
      const LogRecord* blind = room.Take(record);
      if (blind) Blind(launch, *blind);
      const uint32_t barrier = KeyOf(launch, record).second;
      const Place place = record.Pc() - launch.about.pc;
      auto role = role_of_.find(record.warp);
      if (role == role_of_.end()) continue;
      if (record.Kind() == RecordKind::kTry && record.result)
        Passed(role->second, barrier, place, room.pass());
      Turn(KeyOf(launch, record), {role->second, barrier, place, room.out_of_turn()}, record);
    }
    for (auto& [number, room] : rooms) Count(room);
    for (auto& [number, room] : rooms) rooms_.emplace(std::pair{&launch, number}, std::move(room));
  }

  void Count(const Room& room) {
    for (const auto& [key, barrier] : room.barriers()) {
      auto it = kernel_.barriers.find(key.second);
      if (it == kernel_.barriers.end()) continue;
      it->second.phases += barrier.arrivals_seen ? barrier.phase + 1 : 0;
    }
  }

  // Once a role and barrier; the others are counted.
  SeenFinding* Once(const char* code, uint32_t role, uint32_t barrier, Place place) {
    auto [it, fresh] = known_.try_emplace({code, role, barrier}, seen_.findings.size());
    if (!fresh) {
      ++seen_.findings[it->second].times;
      return nullptr;
    }
    SeenFinding& finding = seen_.findings.emplace_back();
    finding.code = code;
    finding.kernel = index_;
    finding.role = kernel_.roles[role].name;
    finding.barriers = {barrier};
    finding.place = place;
    return &finding;
  }

  void Blind(const RecordedLaunch& launch, const LogRecord& record) {
    const auto role = role_of_.find(record.warp);
    if (role == role_of_.end()) return;
    const uint32_t barrier = KeyOf(launch, record).second;
    SeenFinding* finding =
        Once("pipeline-early", role->second, barrier, record.Pc() - launch.about.pc);
    if (!finding) return;
    const bool waits = record.Kind() == RecordKind::kTry;
    finding->text = fmt::format(
        "{} {}, and no barrier in between says that it is initialised: the block's (or cluster's) "
        "barrier behind the initialisation comes later.",
        Does(finding->role, waits ? "wait" : "arrive") + (waits ? " for" : " on"),
        kernel_.BarrierName(barrier));
  }

  void Passed(uint32_t role, uint32_t barrier, Place place, const Room::Pass& pass) {
    kernel_.withheld += pass.withheld;
    if (!pass.known) return;
    if (pass.phases == 0) open_.insert({role, barrier});
    const bool did = pass.phases + 2 <= pass.need;
    if (!did && pass.ordered) return;
    SeenFinding* finding = Once("pipeline-early", role, barrier, place);
    if (!finding) {
      if (did) Struck(role, barrier, pass);
      return;
    }
    finding->certain = did;
    const std::string waits = fmt::format("{} for phase {} of {}", Does(finding->role, "wait"),
                                          pass.need, kernel_.BarrierName(barrier));
    finding->text = waits;
    if (did) {
      finding->text += fmt::format(
          " and passed when at most {} were complete: two phases earlier the parity is the same. "
          "What the role goes on to use is not there yet.",
          pass.phases);
    } else {
      finding->text += fmt::format(
          ", and nothing that the role has waited for before says that phase {} is complete when "
          "it "
          "looks: "
          "two phases earlier the parity is the same, and the wait passes.",
          pass.need - 1);
    }
    const std::string why = Why(barrier, pass.least);
    if (!why.empty()) finding->details.push_back(why);
    if (!did) finding->details.push_back("in this run it was late enough");
  }

  // Why its parity cannot stand for an earlier phase.
  std::string Why(uint32_t barrier, const Room::Least& least) const {
    switch (least.since) {
      case Room::Since::kTurn:
        return fmt::format(
            "the role has had its last turn (an arrival on 0x{:x}), and waits with the same parity "
            "again",
            sides_.at(barrier).partner);
      case Room::Since::kArrival:
        return fmt::format(
            "the role's own last arrival there went into phase {}: it waits with the other parity",
            least.phase);
      case Room::Since::kStart:
        return "the role is a consumer, and begins with a producer's parity: right only for one "
               "that "
               "skips the first use, and is told when that is over";
      default:
        return "";
    }
  }

  // What could happen did, later on.
  void Struck(uint32_t role, uint32_t barrier, const Room::Pass& pass) {
    SeenFinding& finding = seen_.findings[known_.at({"pipeline-early", role, barrier})];
    if (finding.certain) return;
    finding.certain = true;
    if (!finding.details.empty()) {
      finding.details.back() = fmt::format(
          "so it was in this run: phase {} when at most {} were complete", pass.need, pass.phases);
    }
  }

  struct Arrival {
    uint32_t role = 0, barrier = 0;
    Place place = 0;
    std::optional<Room::OutOfTurn> out_of_turn;
  };

  // A barrier that is ahead of its partner harms who still waits for it.
  void Turn(BarrierKey key, const Arrival& arrival, const LogRecord& record) {
    if (arrival.out_of_turn) ahead_.emplace(key, arrival);
    if (record.Kind() == RecordKind::kInit) ahead_.erase(key);
    const auto ahead = ahead_.find(key);
    if (record.Kind() != RecordKind::kTry || ahead == ahead_.end()) return;
    OutOfTurn(ahead->second);
    ahead_.erase(ahead);
  }

  void OutOfTurn(const Arrival& arrival) {
    const auto [role, barrier, place, turn] = arrival;
    SeenFinding* finding = Once("pipeline-overtake", role, barrier, place);
    if (!finding) return;
    const PairSide& side = sides_.at(barrier);
    finding->certain = !side.given_first;
    finding->text = fmt::format(
        "{} on {} out of turn: {} of its phases are complete, and at most {} of 0x{:x}. {}",
        Does(finding->role, "arrive"), kernel_.BarrierName(barrier), turn->own, turn->partner,
        side.partner,
        side.full ? "The slot is filled again before it was given back, and the consumer's barrier "
                    "goes on while it still waits for its last phase."
                  : "The slot is given back more often than it was filled, and the producer's "
                    "barrier goes on without the consumer.");
    for (const uint32_t one : {barrier, side.partner})
      finding->details.push_back(fmt::format("arrivals that complete a phase of 0x{:x}: {}", one,
                                             kernel_.barriers.at(one).expected));
  }

  // A role that waits for empty slots of a pipeline, with a producer's fresh state, and that never
  // fills one, while others do.
  void FindStrangers() {
    std::map<std::pair<uint32_t, std::vector<uint32_t>>, size_t> reported;  // role, producers
    for (const SeenPair& pair : kernel_.pairs) {
      // Who fills it, and did not seem to, cannot be told where arrivals were not seen.
      if (!pair.oriented || kernel_.barriers.at(pair.full).arrivals == Arrivals::kNotAll) continue;
      for (uint32_t role = 0; role < kernel_.roles.size(); ++role) {
        const BarrierUse* use = kernel_.roles[role].Use(pair.empty);
        if (!use || use->waits + use->failed == 0 || !use->starts_open) continue;
        if (kernel_.roles[role].Arrives(pair.full) || pair.producers.empty()) continue;
        auto [it, fresh] = reported.try_emplace({role, pair.producers}, seen_.findings.size());
        if (!fresh) {
          seen_.findings[it->second].barriers.push_back(pair.empty);
          continue;
        }
        Stranger(role, pair, *use);
      }
    }
  }

  void Stranger(uint32_t role, const SeenPair& pair, const BarrierUse& use) {
    SeenFinding& finding = seen_.findings.emplace_back();
    finding.code = "pipeline-owner";
    finding.kernel = index_;
    finding.role = kernel_.roles[role].name;
    finding.other = Names(kernel_, pair.producers);
    finding.barriers = {pair.empty};
    finding.place = use.wait;
    finding.certain = kernel_.Unseen().empty();  // else the pair may be another one
    finding.text = fmt::format(
        "{} on the empty side of a pipeline that the role never fills: {} on its full side. Its "
        "state is one that no commit ever moves: whether that passes depends on how many releases "
        "are complete when it looks.",
        Does(finding.role, "wait"), Does(finding.other, "arrive"));
    const BarrierUse* owner = kernel_.roles[pair.producers.front()].Use(pair.full);
    finding.details.push_back(
        fmt::format("0x{:x} is awaited {} times by {}, which never {} on 0x{:x}", pair.empty,
                    use.waits + use.failed, finding.role,
                    IsPlural(finding.role) ? "arrive" : "arrives", pair.full));
    finding.details.push_back(fmt::format("0x{:x} is filled by {}: {} arrivals", pair.full,
                                          finding.other,
                                          owner ? owner->arrivals + owner->later : 0));
    finding.details.push_back(fmt::format("released by {}", Names(kernel_, pair.consumers)));
    finding.details.push_back(kernel_.blocks_watched < kernel_.blocks
                                  ? fmt::format("in {} of {} blocks, all that were watched",
                                                kernel_.blocks_watched, kernel_.blocks)
                                  : fmt::format("in all {} blocks", kernel_.blocks));
  }

  // Both sides of a pair begin as a producer does, and both did pass before anything had arrived:
  // neither waits for the other.
  void FindBothOpen() {
    // A barrier whose arrivals were not seen has no pair, and the empty side that it belongs to may
    // have been put together with another one.
    if (!kernel_.Unseen().empty()) return;
    for (const SeenPair& pair : kernel_.pairs) {
      if (!pair.both_open) continue;
      for (uint32_t role : pair.consumers) {
        if (!open_.count({role, pair.full})) continue;
        SeenFinding* finding =
            Once("pipeline-early", role, pair.full, kernel_.roles[role].Use(pair.full)->wait);
        if (!finding) continue;
        finding->other = Names(kernel_, pair.producers);
        finding->text = fmt::format(
            "{} passed mbarrier 0x{:x} before anything had arrived on it, and {} passed 0x{:x}: "
            "both begin with parity "
            "1, as a producer does, and neither waits for the other.{}",
            finding->role, pair.full, finding->other, pair.empty,
            pair.oriented ? fmt::format(" Copies complete on 0x{:x}: its waiter is the consumer, "
                                        "and begins with parity 0.",
                                        pair.full)
                          : " One of them is the consumer, and begins with parity 0.");
        finding->certain = pair.oriented;
      }
    }
  }

  void Add(SeenFinding finding) {
    finding.kernel = index_;
    seen_.findings.push_back(std::move(finding));
  }

  const Recording& recording_;
  const std::vector<const RecordedLaunch*>& launches_;
  const size_t index_;
  SeenKernel& kernel_;
  Observation& seen_;
  std::map<uint32_t, PairSide> sides_;
  std::map<uint32_t, uint32_t> role_of_;
  std::map<uint32_t, ArrivalsSeen> arrivals_;
  Rooms rooms_;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, size_t> known_;
  std::map<BarrierKey, Arrival> ahead_;  // of one launch: by arrivals out of turn
  std::set<RoleBarrier> open_;  // role, barrier: passed before the first phase was complete
};

}  // namespace

void Judge(const Recording& recording, const std::vector<const RecordedLaunch*>& launches,
           size_t kernel, Observation& seen) {
  Judging(recording, launches, kernel, seen).Run();
}

}  // namespace ss::pipeline
