// How far each stream of a running process has come, by the breadcrumbs that it leaves
// (src/trace/crumbs.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "src/program/finding.h"
#include "src/trace/crumbs.h"

namespace ss {

class Trails {
 public:
  explicit Trails(std::shared_ptr<const trace::CrumbTable> crumbs) : crumbs_(std::move(crumbs)) {}

  // An operation, and the number of the record that it comes from. In order.
  void Take(const Op& op, uint64_t number);
  // As of now, by stream.
  std::vector<Trail> Tell(const std::function<Site(const Op&)>& site_of);
  // Operations that have no mark behind them.
  uint64_t unmarked() const { return crumbs_->unmarked.load(std::memory_order_relaxed); }

 private:
  struct Numbered {
    uint64_t number = 0;
    Op op;
  };
  struct Stream {
    const trace::CrumbSlot* slot = nullptr;
    uint64_t first = 0;
    std::optional<Op> finished;
    std::deque<Numbered> open;
    uint64_t more = 0;  // that found no room in `open`
  };

  static constexpr size_t kMaxOpen = 65536;

  Stream* Find(const Op& op, uint64_t number);
  static void Advance(Stream& stream);

  std::shared_ptr<const trace::CrumbTable> crumbs_;
  std::map<StreamId, Stream> streams_;
  bool in_graph_ = false;  // operations of a graph that is being told: no stream runs them now
};

}  // namespace ss
