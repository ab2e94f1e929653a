#include "src/detect/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ss {
namespace {

const char* KindName(uint32_t kind) {
  static const char* kNames[] = {"allreduce", "allgather", "reducescatter", "alltoall", "broadcast",
                                 "barrier",   "send",      "recv",          "reduce"};
  return kind < std::size(kNames) ? kNames[kind] : "collective";
}

bool PointToPoint(const Op& op) {
  auto kind = static_cast<CollectiveKind>(op.aux);
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

class Collectives {
 public:
  Collectives(const CrossClocks& alone, const Program& names, const std::vector<Op>& ops,
              const std::vector<Access>& accesses)
      : alone_(alone), names_(names), accesses_(accesses) {
    for (const Op& op : ops) {
      if (op.kind == OpKind::kStreamCreate) streams_[op.stream] = op.name;
      if (op.kind == OpKind::kHostBegin) hosts_[op.host] = op.name;
    }
    for (const CrossPoint& point : alone.points()) {
      if (point.op.kind != OpKind::kCollective) continue;
      members_[point.op.object].insert(point.rank);
      if (PointToPoint(point.op)) {
        AddToChannel(point);
      } else {
        sequences_[point.op.object][point.rank].push_back(&point);
      }
    }
  }

  std::vector<Finding> Run() {
    for (auto& [comm, ranks] : sequences_) CompareRanks(comm, ranks);
    for (auto& [channel, ends] : channels_) ComparePair(channel, ends);
    FindCircles();
    return std::move(findings_);
  }

 private:
  using Point = const CrossPoint*;
  using Sequence = std::vector<Point>;
  using Channel = std::tuple<uint32_t, uint32_t, uint32_t>;  // communicator, from, to
  struct Ends {
    Sequence sends, receives;
  };

  void AddToChannel(const CrossPoint& point) {
    uint32_t peer = static_cast<uint32_t>(point.op.value) - 1;
    bool sends = static_cast<CollectiveKind>(point.op.aux) == CollectiveKind::kSend;
    Channel channel{point.op.object, sends ? point.rank : peer, sends ? peer : point.rank};
    (sends ? channels_[channel].sends : channels_[channel].receives).push_back(&point);
  }

  // What must agree: kind, root, and how many bytes each rank contributes (a broadcast's root sends
  // what the others receive).
  auto Shape(Point point) const {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < point->op.access_count; ++i) {
      const Access& access = accesses_[point->op.access_begin + i];
      bool counts = (access.mode & kRead) ||
                    static_cast<CollectiveKind>(point->op.aux) == CollectiveKind::kBroadcast;
      if (counts) bytes = std::max(bytes, access.end - access.begin);
    }
    return std::tuple{point->op.aux, point->op.value, bytes};
  }

  std::string Describe(Point point) const {
    auto [kind, root, bytes] = Shape(point);
    std::string text = KindName(kind);
    if (bytes != 0) text += fmt::format(" of {} bytes", bytes);
    if (root != 0) text += fmt::format(", root {}", root - 1);
    return text;
  }

  void CompareRanks(uint32_t comm, std::map<uint32_t, Sequence>& ranks) {
    for (uint32_t rank : members_[comm]) ranks[rank];  // a member may be missing altogether
    const Sequence& reference = ranks.begin()->second;
    for (auto it = std::next(ranks.begin()); it != ranks.end(); ++it) {
      if (Compare(comm, ranks.begin()->first, reference, it->first, it->second)) return;
    }
  }

  bool Compare(uint32_t comm, uint32_t rank_a, const Sequence& a, uint32_t rank_b,
               const Sequence& b) {
    size_t i = 0;
    while (i < a.size() && i < b.size() && Shape(a[i]) == Shape(b[i])) ++i;
    if (i == a.size() && i == b.size()) return false;
    if (i == a.size() || i == b.size()) {
      Point extra = i < a.size() ? a[i] : b[i];
      Missing(comm, extra, i < a.size() ? rank_b : rank_a);
      return true;
    }
    auto later = [&](const Sequence& in, Point wanted) {
      return std::any_of(in.begin() + i, in.end(),
                         [&](Point p) { return Shape(p) == Shape(wanted); });
    };
    bool permuted = later(a, b[i]) && later(b, a[i]);
    Report(permuted ? "collective-order" : "collective-mismatch", comm, a[i], b[i],
           fmt::format("the {}. operation is {} on rank {} and {} on rank {}", i + 1,
                       Describe(a[i]), rank_a, Describe(b[i]), rank_b));
    return true;
  }

  void ComparePair(const Channel& channel, const Ends& ends) {
    auto [comm, from, to] = channel;
    for (size_t i = 0; i < std::max(ends.sends.size(), ends.receives.size()); ++i) {
      if (i >= ends.sends.size()) return Missing(comm, ends.receives[i], from);
      if (i >= ends.receives.size()) return Missing(comm, ends.sends[i], to);
      uint64_t sent = Bytes(ends.sends[i]), received = Bytes(ends.receives[i]);
      if (sent == received) continue;
      return Report(
          "collective-mismatch", comm, ends.sends[i], ends.receives[i],
          fmt::format("rank {} sends {} bytes, rank {} receives {}", from, sent, to, received));
    }
  }

  uint64_t Bytes(Point point) const {
    if (point->op.access_count == 0) return 0;
    const Access& access = accesses_[point->op.access_begin];
    return access.end - access.begin;
  }

  // Operations of different communicators that wait for each other in a circle: on each rank one
  // comes before the other, and the ranks disagree.
  void FindCircles() {
    struct Node {
      std::vector<Point> points;
      std::set<size_t> after;
    };
    std::vector<Node> nodes;
    std::map<std::pair<uint32_t, size_t>, size_t> ids;
    std::map<uint32_t, std::vector<std::pair<Point, size_t>>> by_rank;
    for (auto& [comm, ranks] : sequences_) {
      for (auto& [rank, sequence] : ranks) {
        for (size_t n = 0; n < sequence.size(); ++n) {
          auto [at, fresh] = ids.emplace(std::pair{comm, n}, nodes.size());
          if (fresh) nodes.emplace_back();
          nodes[at->second].points.push_back(sequence[n]);
          by_rank[rank].push_back({sequence[n], at->second});
        }
      }
    }
    for (auto& [rank, list] : by_rank) {
      std::sort(list.begin(), list.end(),
                [](auto& a, auto& b) { return a.first->index < b.first->index; });
      LinkInOrder(list, [&](size_t from, size_t to) { nodes[from].after.insert(to); });
    }
    std::vector<size_t> component = Components(
        nodes.size(), [&](size_t i) -> const std::set<size_t>& { return nodes[i].after; });
    std::map<size_t, std::set<uint32_t>> comms;
    for (auto& [key, id] : ids) comms[component[id]].insert(key.first);
    for (auto& [key, id] : ids) {
      const auto& circle = comms[component[id]];
      if (circle.size() < 2 || nodes[id].points.size() < 2) continue;
      std::string others;
      for (uint32_t comm : circle) {
        if (comm != key.first) others += (others.empty() ? "" : ", ") + CommName(comm);
      }
      Report("collective-order", key.first, nodes[id].points[0], nodes[id].points[1],
             "ranks wait in a circle with communicator " + others);
    }
  }

  // Only neighbours on a lane are linked: the rest follows, and lists stay linear in the program.
  template <typename Link>
  void LinkInOrder(const std::vector<std::pair<Point, size_t>>& list, Link link) {
    std::map<LaneId, std::pair<Point, size_t>> last;
    for (const auto& [point, id] : list) {
      for (const auto& [lane, before] : last) {
        bool known = lane == point->lane || point->start.Get(lane) >= before.first->epoch;
        if (known && before.second != id) link(before.second, id);
      }
      last[point->lane] = {point, id};
    }
  }

  // Tarjan's strongly connected components, without recursion.
  template <typename Next>
  static std::vector<size_t> Components(size_t count, Next next) {
    constexpr size_t kUnseen = SIZE_MAX;
    std::vector<size_t> order(count, kUnseen), low(count), component(count, kUnseen), stack;
    size_t time = 0, components = 0;
    struct Frame {
      size_t node;
      std::set<size_t>::const_iterator at;
    };
    for (size_t root = 0; root < count; ++root) {
      if (order[root] != kUnseen) continue;
      std::vector<Frame> frames{{root, next(root).begin()}};
      order[root] = low[root] = time++;
      stack.push_back(root);
      while (!frames.empty()) {
        Frame& frame = frames.back();
        size_t node = frame.node;
        if (frame.at != next(node).end()) {
          size_t child = *frame.at++;
          if (order[child] == kUnseen) {
            order[child] = low[child] = time++;
            stack.push_back(child);
            frames.push_back({child, next(child).begin()});
          } else if (component[child] == kUnseen) {
            low[node] = std::min(low[node], order[child]);
          }
          continue;
        }
        frames.pop_back();
        if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
        if (low[node] != order[node]) continue;
        for (size_t member = kUnseen; member != node; stack.pop_back()) {
          member = stack.back();
          component[member] = components;
        }
        ++components;
      }
    }
    return component;
  }

  void Missing(uint32_t comm, Point extra, uint32_t rank) {
    Finding finding = Start("collective-mismatch", comm);
    finding.first = MakeSite(extra);
    finding.second.lane = fmt::format("rank{}", rank);
    finding.second.rank = rank;
    finding.second.name = "nothing";
    finding.root_cause = fmt::format("rank {} issues {} and rank {} has no counterpart",
                                     extra->rank, Describe(extra), rank);
    Add(std::move(finding));
  }

  void Report(const char* code, uint32_t comm, Point first, Point second, std::string cause) {
    Finding finding = Start(code, comm);
    finding.first = MakeSite(first);
    finding.second = MakeSite(second);
    finding.root_cause = std::move(cause);
    Add(std::move(finding));
  }

  Finding Start(const char* code, uint32_t comm) const {
    Finding finding;
    finding.code = code;
    finding.buffer.name = CommName(comm);
    return finding;
  }

  void Add(Finding finding) {
    if (!reported_.insert(finding.buffer.name).second) return;  // one a communicator
    finding.edge_from = finding.first.lane;
    finding.edge_to = finding.second.lane;
    finding.evidence.push_back(finding.root_cause);
    findings_.push_back(std::move(finding));
  }

  Site MakeSite(Point point) const {
    Site site;
    site.op = point->op.id;
    site.index = point->index;
    site.kind = point->op.kind;
    site.name = KindName(point->op.aux);
    site.label = names_.strings.Get(point->op.label);
    auto stream = streams_.find(point->op.stream);
    if (stream != streams_.end()) site.lane = names_.strings.Get(stream->second);
    auto host = hosts_.find(point->op.host);
    if (host != hosts_.end()) site.host = names_.strings.Get(host->second);
    site.lane_aliases.push_back(fmt::format("rank{}", point->rank));
    site.stream = point->op.stream;
    site.host_id = point->op.host;
    site.rank = point->rank;
    site.access = site.name;
    site.stack = point->op.stack;
    site.line = point->op.line;
    return site;
  }

  std::string CommName(uint32_t comm) const {
    return comm < names_.comm_names.size() ? names_.comm_names[comm] : fmt::format("comm#{}", comm);
  }

  const CrossClocks& alone_;
  const Program& names_;
  const std::vector<Access>& accesses_;
  std::map<StreamId, StringId> streams_;
  std::map<HostId, StringId> hosts_;
  std::map<uint32_t, std::set<uint32_t>> members_;
  std::map<uint32_t, std::map<uint32_t, Sequence>> sequences_;
  std::map<Channel, Ends> channels_;
  std::set<std::string> reported_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> CheckCollectives(const CrossClocks& alone, const Program& names,
                                      const std::vector<Op>& ops,
                                      const std::vector<Access>& accesses) {
  return Collectives(alone, names, ops, accesses).Run();
}

}  // namespace ss
