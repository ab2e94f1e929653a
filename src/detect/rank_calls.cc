// How collectives get from a walk into the plain data that is matched.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/detect/collectives.h"

namespace ss {
namespace {

// What a rank contributes; a broadcast's root sends what the others receive.
uint64_t BytesOf(const Op& op, const std::vector<Access>& accesses) {
  const auto kind = static_cast<CollectiveKind>(op.aux);
  const bool any = kind == CollectiveKind::kBroadcast || PointToPoint(kind);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < op.access_count; ++i) {
    const Access& access = accesses[op.access_begin + i];
    if (any || (access.mode & kRead)) bytes = std::max(bytes, access.end - access.begin);
  }
  return bytes;
}

class Builder {
 public:
  Builder(const Program& names, const std::vector<Op>& ops) : names_(names) {
    for (const Op& op : ops) {
      if (op.kind == OpKind::kStreamCreate) streams_[op.stream] = op.name;
      if (op.kind == OpKind::kHostBegin) hosts_[op.host] = op.name;
    }
  }

  // In a litmus file a rank's number is that in every communicator.
  void Add(const PlacedCollective& placed, const std::vector<Access>& accesses) {
    RankCalls& rank = ranks_[placed.rank];
    rank.rank = placed.rank;
    rank.has_rank = true;
    CollectiveCall call;
    call.op = AddOp(rank, placed);
    call.comm = AddComm(rank, placed.op.object);
    call.kind = static_cast<CollectiveKind>(placed.op.aux);
    call.peer = static_cast<uint32_t>(placed.op.value);
    call.bytes = BytesOf(placed.op, accesses);
    rank.calls.push_back(call);
  }

  std::vector<RankCalls> Take() {
    std::vector<RankCalls> ranks;
    for (auto& [number, rank] : ranks_) ranks.push_back(std::move(rank));
    return ranks;
  }

 private:
  uint32_t AddOp(RankCalls& rank, const PlacedCollective& placed) {
    CollectiveOp op;
    op.id = placed.op.id;
    op.index = placed.index;
    op.stream = placed.op.stream;
    op.host = placed.op.host;
    op.lane_name = Name(rank, streams_[op.stream]);
    op.host_name = Name(rank, hosts_[op.host]);
    op.label = Name(rank, placed.op.label);
    op.stack = placed.op.stack;
    op.line = placed.op.line;
    op.after_begin = static_cast<uint32_t>(rank.after.size());
    op.after_count = static_cast<uint32_t>(placed.after.size());
    for (uint32_t before : placed.after) rank.after.push_back(position_[before]);
    position_.push_back(static_cast<uint32_t>(rank.ops.size()));
    rank.ops.push_back(op);
    return position_.back();
  }

  uint32_t AddComm(RankCalls& rank, uint32_t id) {
    auto [at, fresh] =
        comms_.try_emplace({rank.rank, id}, static_cast<uint32_t>(rank.comms.size()));
    if (fresh) {
      CommEnd end;
      end.name = id < names_.comm_names.size() ? names_.comm_names[id] : "";
      end.identity = std::to_string(id);
      end.member = rank.rank;
      rank.comms.push_back(end);
    }
    return at->second;
  }

  uint32_t Name(RankCalls& rank, StringId name) const {
    if (name == 0) return 0;
    rank.names.push_back(names_.strings.Get(name));
    return static_cast<uint32_t>(rank.names.size() - 1);
  }

  const Program& names_;
  std::map<StreamId, StringId> streams_;
  std::map<HostId, StringId> hosts_;
  std::map<uint32_t, RankCalls> ranks_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> comms_;
  std::vector<uint32_t> position_;  // of each placed one, in its rank's ops
};

}  // namespace

void CollectiveOrder::Add(const Op& op, size_t index, const Step& step) {
  const auto position = static_cast<uint32_t>(placed_.size());
  PlacedCollective placed{op, index, step.stream->rank, step.lane, step.epoch, {}};
  bool own = false;
  for (auto& [lane, last] : last_) {
    const bool same = lane == step.lane;
    if (same || step.start->Get(lane) >= placed_[last].epoch) placed.after.push_back(last);
    if (same) last = position;
    own |= same;
  }
  if (!own) last_.emplace_back(step.lane, position);
  placed_.push_back(std::move(placed));
}

std::vector<RankCalls> CallsOf(const Program& names, const std::vector<Op>& ops,
                               const std::vector<Access>& accesses,
                               const std::vector<PlacedCollective>& placed) {
  Builder builder(names, ops);
  for (const PlacedCollective& one : placed) builder.Add(one, accesses);
  return builder.Take();
}

void SetOrder(RankCalls& calls, const std::vector<PlacedCollective>& placed) {
  std::unordered_map<OpId, uint32_t> position;
  for (size_t i = 0; i < calls.ops.size(); ++i) {
    position[calls.ops[i].id] = static_cast<uint32_t>(i);
  }
  calls.after.clear();
  for (const PlacedCollective& one : placed) {
    auto at = position.find(one.op.id);
    if (at == position.end()) continue;  // nothing that has a counterpart
    CollectiveOp& op = calls.ops[at->second];
    op.index = one.index;
    op.after_begin = static_cast<uint32_t>(calls.after.size());
    for (uint32_t before : one.after) {
      auto found = position.find(placed[before].op.id);
      if (found != position.end()) calls.after.push_back(found->second);
    }
    op.after_count = static_cast<uint32_t>(calls.after.size()) - op.after_begin;
  }
}

}  // namespace ss
