#include "src/pipeline/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/pipeline/room.h"
#include "src/pipeline/stuck.h"

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
      partners_[pair.full] = pair.empty;
      partners_[pair.empty] = pair.full;
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
  using RoleBarrier = std::pair<uint32_t, uint32_t>;

  void Replay(const RecordedLaunch& launch) {
    std::map<uint32_t, Room> rooms;
    for (const LogRecord& record : launch.records) {
      const uint32_t number = RoomOf(launch, record.block);
      Room& room = rooms.try_emplace(number, launch, partners_, arrivals_).first->second;
      const bool blind = room.Take(record);
      const uint32_t barrier = KeyOf(launch, record).second;
      const Place place = record.Pc() - launch.about.pc;
      auto role = role_of_.find(record.warp);
      if (role == role_of_.end()) continue;
      if (blind) Blind(role->second, barrier, place, record);
      if (record.Kind() == RecordKind::kTry && record.result)
        Passed(role->second, barrier, place, room.pass());
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

  void Blind(uint32_t role, uint32_t barrier, Place place, const LogRecord& record) {
    SeenFinding* finding = Once("pipeline-early", role, barrier, place);
    if (!finding) return;
    const bool waits = record.Kind() == RecordKind::kTry;
    finding->text = fmt::format(
        "{} {} {}, and no barrier in between says that it is initialised: the block's (or "
        "cluster's) "
        "barrier behind the initialisation comes later.",
        finding->role, Verb(role, waits ? "wait" : "arrive"), kernel_.BarrierName(barrier));
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
    const std::string waits =
        fmt::format("{} {} for phase {} of {}", finding->role, Verb(role, "wait"), pass.need,
                    kernel_.BarrierName(barrier));
    finding->text = waits;
    if (did) {
      finding->text += fmt::format(
          " and passed when at most {} were complete: two phases earlier the parity is the same. "
          "What it goes on to use is not there yet.",
          pass.phases);
    } else {
      finding->text += fmt::format(
          ", and nothing that it has waited for before says that phase {} is complete when it "
          "looks: "
          "two phases earlier the parity is the same, and it passes.",
          pass.need - 1);
    }
    if (kernel_.PairOf(barrier)) {
      finding->details.push_back(fmt::format(
          "it has had its last turn (it arrived on 0x{:x}), and waits with the same parity again",
          partners_.at(barrier)));
    }
    if (!did) finding->details.push_back("in this run it was late enough");
  }

  // What could happen did, later on.
  void Struck(uint32_t role, uint32_t barrier, const Room::Pass& pass) {
    SeenFinding& finding = seen_.findings[known_.at({"pipeline-early", role, barrier})];
    if (finding.certain) return;
    finding.certain = true;
    if (!finding.details.empty()) {
      finding.details.back() = fmt::format(
          "it did so in this run: phase {} when at most {} were complete", pass.need, pass.phases);
    }
  }

  std::string Verb(uint32_t role, const char* verb) const {
    return std::string(verb) + (kernel_.roles[role].warps.size() > 1 ? "" : "s");
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
        "{} {} on the empty side of a pipeline that it never fills: {} {}. It waits with a state "
        "that no "
        "commit ever moves: whether that passes depends on how many releases are complete when it "
        "looks.",
        finding.role, kernel_.roles[role].warps.size() > 1 ? "wait" : "waits", finding.other,
        "arrive on its full side");
    const BarrierUse* owner = kernel_.roles[pair.producers.front()].Use(pair.full);
    finding.details.push_back(
        fmt::format("0x{:x} is awaited {} times by {}, which never arrive on 0x{:x}", pair.empty,
                    use.waits + use.failed, finding.role, pair.full));
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
  std::map<uint32_t, uint32_t> partners_, role_of_;
  std::map<uint32_t, ArrivalsSeen> arrivals_;
  Rooms rooms_;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, size_t> known_;
  std::set<RoleBarrier> open_;  // role, barrier: passed before the first phase was complete
};

}  // namespace

void Judge(const Recording& recording, const std::vector<const RecordedLaunch*>& launches,
           size_t kernel, Observation& seen) {
  Judging(recording, launches, kernel, seen).Run();
}

}  // namespace ss::pipeline
