// What joining the traces of several ranks needs of one: its communicators, and what was asked of
// them.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "src/import/state.h"

namespace ss {
namespace {

// NcclComm::how.
enum Birth : uint64_t { kSeen, kInit, kSplit, kShrink, kGrow, kInitAll };
constexpr int64_t kNoColor = INT64_MIN;  // of what is made by shrinking

// Positions of strings in RankCalls::names.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  uint32_t Add(const std::string& name) {
    if (name.empty()) return 0;
    auto [at, fresh] = at_.try_emplace(name, static_cast<uint32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return at->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, uint32_t> at_;
};

}  // namespace

std::vector<NcclWork> WorksOf(const std::vector<NcclAsked>& asked) {
  std::vector<NcclWork> works;  // few: searched linearly
  for (const NcclAsked& one : asked) {
    auto at = std::find_if(works.begin(), works.end(),
                           [&](const NcclWork& work) { return work.comm.id == one.comm.id; });
    if (at == works.end()) at = works.insert(at, NcclWork{one.comm, one.host, one.stream, {}});
    at->calls.push_back(one.call);
  }
  return works;
}

void AddAsked(RankCalls& to, const NcclWork& work, OpId id) {
  bool added = false;
  for (const trace::NcclCall& call : work.calls) {
    if (IsEmptyCollective(call)) continue;
    if (!added) {
      CollectiveOp op;
      op.id = id;
      op.group = call.group;
      op.stream = work.stream;
      op.host = work.host;
      op.stack = static_cast<StackId>(call.stack);
      to.ops.push_back(op);
      added = true;
    }
    CollectiveCall made = MakeCall(call);
    made.op = static_cast<uint32_t>(to.ops.size() - 1);
    made.comm = work.comm.id;
    to.calls.push_back(made);
  }
}

// All ranks draw the numbers of one parent's and color's splits in the same order: a split is an
// operation of the parent. Of a grown communicator the old ranks are not told the id.
std::string Importer::State::IdentityOf(const trace::NcclComm& record) {
  switch (record.how) {
    case kInit:
      return record.identity ? fmt::format("{:x}", record.identity) : "";
    case kInitAll:  // the id is an address of this process
      return fmt::format("process {} {:x}", process_.pid, record.identity);
    case kSplit:
    case kShrink: {
      NcclLife* parent = nccl_.Find(record.parent);
      if (parent == nullptr || parent->identity.empty()) return "";
      const int64_t color = record.how == kSplit ? record.color : kNoColor;
      return fmt::format("{}/{}.{}", parent->identity, color, parent->made[color]++);
    }
    default:
      return "";
  }
}

CommEnd& Importer::State::EndOf(const NcclMember& comm) {
  if (calls_of_rank_.comms.size() <= comm.id) calls_of_rank_.comms.resize(comm.id + 1);
  return calls_of_rank_.comms[comm.id];
}

// With what had not returned: it was asked for, and may be what everybody waits for.
RankCalls Importer::State::Collectives() const {
  RankCalls all = calls_of_rank_;
  OpId id = last_op_;
  for (const auto& [group, asked] : nccl_.open()) {
    for (const NcclWork& work : WorksOf(asked)) AddAsked(all, work, ++id);
  }
  all.comms.resize(std::max<size_t>(all.comms.size(), nccl_.made()));
  all.has_rank = process_.rank >= 0;
  if (all.has_rank) all.rank = static_cast<uint32_t>(process_.rank);
  all.from_start = dropped_ == 0 && !process_.late;
  all.to_end = process_.ended;
  Names names(all.names);
  for (CollectiveOp& op : all.ops) {
    op.lane_name = names.Add(strings_.Get(stream_names_[op.stream]));
    op.host_name = names.Add(strings_.Get(host_names_[op.host]));
  }
  return all;
}

}  // namespace ss
