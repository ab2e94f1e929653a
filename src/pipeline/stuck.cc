#include "src/pipeline/stuck.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "src/pipeline/wording.h"

namespace ss::pipeline {
namespace {

// Warps of one role that wait at the same place for the same.
struct Crowd {
  std::set<std::pair<uint32_t, uint32_t>> blocks;  // launch, block
  uint64_t warps = 0;
  const RecordedLaunch* launch = nullptr;
  StuckWarp example{};
};

class Jam {
 public:
  Jam(const Recording& recording, const std::vector<const RecordedLaunch*>& launches,
      const SeenKernel& kernel, const Rooms& rooms)
      : recording_(recording), launches_(launches), kernel_(kernel), rooms_(rooms) {}

  std::vector<SeenFinding> Find() {
    if (!recording_.end || recording_.end->how != LogEnd::kHang) return {};
    Gather();
    std::vector<SeenFinding> findings;
    for (const auto& [key, crowd] : crowds_) {
      if (IsRoot(key) || AllFollow()) findings.push_back(Explain(key, crowd));
    }
    AddFollowers(findings);
    return findings;
  }

 private:
  struct Key {
    std::string role;
    uint32_t barrier;
    Place place;
    uint32_t parity;
    auto Order() const { return std::tie(role, barrier, place, parity); }
    bool operator<(const Key& other) const { return Order() < other.Order(); }
  };

  void Gather() {
    for (const StuckWarp& warp : recording_.stuck) {
      for (const RecordedLaunch* launch : launches_) {
        if (launch->about.launch != warp.launch) continue;
        const Place place = warp.Pc() - launch->about.pc;
        const uint32_t barrier = KeyOf(*launch, warp).second;
        Crowd& crowd = crowds_[{RoleOf(warp.warp), barrier, place, warp.data & 1u}];
        crowd.blocks.insert({warp.launch, warp.block});
        ++crowd.warps;
        crowd.launch = launch;
        // An example from a block that was watched says more.
        if (crowd.warps == 1 || !FindRoom(*crowd.launch, crowd.example.block)) crowd.example = warp;
        stuck_.insert({warp.launch, warp.block, warp.warp});
      }
    }
  }

  std::string RoleOf(uint32_t warp) const {
    for (const SeenRole& role : kernel_.roles) {
      if (std::find(role.warps.begin(), role.warps.end(), warp) != role.warps.end())
        return role.name;
    }
    return fmt::format("warp {}", warp);
  }

  const Room* FindRoom(const RecordedLaunch& launch, uint32_t block) const {
    auto it = rooms_.find({&launch, RoomOf(launch, block)});
    return it == rooms_.end() ? nullptr : &it->second;
  }

  bool AllFollow() const {
    return std::none_of(crowds_.begin(), crowds_.end(),
                        [this](const auto& entry) { return IsRoot(entry.first); });
  }

  // Nobody who ever arrives on its barrier waits, too.
  bool IsRoot(const Key& key) const {
    for (const SeenRole& role : kernel_.roles) {
      if (!role.Arrives(key.barrier) || role.name == key.role) continue;
      for (const auto& [other, crowd] : crowds_) {
        if (other.role == role.name) return false;
      }
    }
    return true;
  }

  SeenFinding Explain(const Key& key, const Crowd& crowd) const {
    SeenFinding finding;
    finding.code = "pipeline-deadlock";
    finding.role = key.role;
    finding.barriers = {key.barrier};
    finding.place = key.place;
    finding.times = crowd.warps;
    finding.text = fmt::format(
        "{} for {}{} and never {} on: {} warp{} of {} block{}, {} s after the last event.",
        Does(key.role, "wait"), kernel_.BarrierName(key.barrier),
        crowd.example.word ? fmt::format(" with parity {}", key.parity) : "",
        IsPlural(key.role) ? "get" : "gets", crowd.warps, crowd.warps == 1 ? "" : "s",
        crowd.blocks.size(), crowd.blocks.size() == 1 ? "" : "s", recording_.end->quiet_ms / 1000);
    State(key, crowd, finding);
    return finding;
  }

  // What the barrier itself says, then what its history does, where the block was watched.
  void State(const Key& key, const Crowd& crowd, SeenFinding& finding) const {
    const uint64_t word = crowd.example.word;
    if (WordHasCounts(word)) {
      finding.details.push_back(
          fmt::format("block {}: {} of {} arrivals of the phase are missing{}", crowd.example.block,
                      WordPending(word), WordExpected(word),
                      WordAwaitsBytes(word) ? ", and bytes of copies" : ""));
    }
    const Room* room = FindRoom(*crowd.launch, crowd.example.block);
    if (!room) {
      finding.details.push_back(
          "the block was not watched: who arrived before is unknown (--blocks N)");
      return;
    }
    const auto barrier = room->barriers().find({crowd.example.block, key.barrier});
    const std::vector<uint32_t> unseen = kernel_.Unseen();
    if (std::count(unseen.begin(), unseen.end(), key.barrier)) {
      finding.details.emplace_back(
          "arrivals on it were not seen: how many phases are complete, and who else may arrive, is "
          "unknown");
    } else if (barrier != room->barriers().end() && word != 0) {
      const uint64_t complete = barrier->second.Complete(word);
      finding.details.push_back(
          fmt::format("{} phases are complete: parity {} is closed", complete, key.parity));
      Overtaken(key, crowd, *room, complete, finding);
    }
    for (const SeenRole& role : kernel_.roles) {
      if (role.Arrives(key.barrier)) finding.details.push_back(Arriver(role, crowd, *room));
    }
  }

  // Its phase has come and gone before it looked.
  void Overtaken(const Key& key, const Crowd& crowd, const Room& room, uint64_t complete,
                 SeenFinding& finding) const {
    const auto warp = room.warps().find({crowd.example.block, crowd.example.warp});
    if (warp == room.warps().end()) return;
    const uint64_t need =
        NeedFor(key.parity, room.LeastNeed(warp->second, {crowd.example.block, key.barrier}).phase);
    if (complete <= need) return;
    finding.details.push_back(fmt::format(
        "the role's state stands at phase {}, which is over: by parity it now waits for phase "
        "{}, which may never come",
        need, complete + 1));
  }

  std::string Arriver(const SeenRole& role, const Crowd& crowd, const Room& room) const {
    uint64_t exited = 0, waiting = 0, others = 0;
    for (uint32_t warp : role.warps) {
      const auto state = room.warps().find({crowd.example.block, warp});
      if (stuck_.count({crowd.example.launch, crowd.example.block, warp})) {
        ++waiting;
      } else if (state != room.warps().end() && state->second.exited) {
        ++exited;
      } else {
        ++others;
      }
    }
    const bool many = IsPlural(role.name);
    const char* what =
        exited == role.warps.size()    ? (many ? "have left the kernel: no more arrivals"
                                               : "has left the kernel: no more arrivals")
        : waiting == role.warps.size() ? (many ? "wait themselves" : "waits itself")
        : others == role.warps.size()
            ? (many ? "are still at work: they could arrive" : "is still at work: it could arrive")
            : "have partly left";
    return fmt::format("{} there, and {}", Does(role.name, "arrive"), what);
  }

  void AddFollowers(std::vector<SeenFinding>& findings) const {
    if (findings.empty()) return;
    std::set<std::string> roots;
    for (const SeenFinding& finding : findings) roots.insert(finding.role);
    for (const auto& [key, crowd] : crowds_) {
      if (roots.count(key.role)) continue;
      findings.front().details.push_back(fmt::format("{} behind it: {}, parity {}",
                                                     Does(key.role, "wait"),
                                                     kernel_.BarrierName(key.barrier), key.parity));
    }
  }

  const Recording& recording_;
  const std::vector<const RecordedLaunch*>& launches_;
  const SeenKernel& kernel_;
  const Rooms& rooms_;
  std::map<Key, Crowd> crowds_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> stuck_;  // launch, block, warp
};

}  // namespace

std::vector<SeenFinding> FindStuck(const Recording& recording,
                                   const std::vector<const RecordedLaunch*>& launches,
                                   const SeenKernel& kernel, const Rooms& rooms) {
  return Jam(recording, launches, kernel, rooms).Find();
}

}  // namespace ss::pipeline
