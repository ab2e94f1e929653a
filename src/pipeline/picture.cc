#include "src/pipeline/picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/pipeline/machine.h"

namespace ss::pipeline {
namespace {

class Painter {
 public:
  Painter(const Program& program, const Finding& finding, size_t max_rows)
      : program_(program), finding_(finding), machine_(program), max_rows_(max_rows) {
    // A stuck end state is about every barrier that somebody waits for.
    subjects_.insert(finding.subject);
    for (const StuckAgent& agent : finding.stuck)
      subjects_.insert(program.OwnerName(program.barriers[agent.barrier]));
  }

  Picture Paint() {
    picture_.steps = finding_.schedule.size();
    picture_.connection = Connection();
    if (!finding_.scheduled) return std::move(picture_);
    State state = machine_.Start();
    uint64_t number = 0;
    for (EventRef event : finding_.schedule) {
      const Step& step = *machine_.Next(state, event.agent);
      const Phases before = step.OnBarrier() ? state.barriers[step.barrier] : Phases{};
      machine_.Advance(state, event.agent);
      ++number;
      if (Concerns(step, event)) AddStep(state, event, step, before, number);
    }
    Cut();
    AddEnd(state);
    NameLanes();
    return std::move(picture_);
  }

 private:
  const Op& OpOf(EventRef event) const {
    const uint32_t role = program_.agents[event.agent].role;
    return program_.protocol->roles[role].ops[program_.steps[role][event.step].op];
  }

  bool Concerns(const Step& step, EventRef event) const {
    if (step.kind == Step::Kind::kNothing) {
      const Op& op = OpOf(event);
      return op.kind == OpKind::kAdvance &&
             subjects_.count(program_.protocol->pipes[op.target].name) > 0;
    }
    if (step.kind == Step::Kind::kAccess) {
      const Buffer& buffer = program_.buffers[step.barrier];
      return subjects_.count(program_.protocol->pipes[buffer.pipe].name) > 0;
    }
    return subjects_.count(program_.OwnerName(program_.barriers[step.barrier])) > 0;
  }

  // "full[1]" where the pipeline is the finding's, else "full[1] of p".
  std::string Short(const Step& step) const {
    const Barrier& barrier = program_.barriers[step.barrier];
    if (barrier.kind == Barrier::Kind::kMbar || barrier.kind == Barrier::Kind::kNamed)
      return program_.OwnerName(barrier);
    std::string name = program_.BarrierName(barrier);
    return program_.OwnerName(barrier) == finding_.subject ? name.substr(0, name.find(' ')) : name;
  }

  void AddStep(const State& state, EventRef event, const Step& step, const Phases& before,
               uint64_t number) {
    const Op& op = OpOf(event);
    PictureRow row{number, event.agent, Text(*program_.protocol, op), "", op.line};
    Link(step, event, before, state);
    if (step.kind == Step::Kind::kAccess) {
      row.note = fmt::format("stage {}", program_.buffers[step.barrier].stage);
    } else if (step.Waits()) {
      row.note = fmt::format("passes: {} {} complete", Short(step), before.complete);
    } else if (step.OnBarrier()) {
      row.note = ArrivalNote(step, before, state.barriers[step.barrier]);
    }
    picture_.rows.push_back(std::move(row));
  }

  // A wait that passes by parity before its phase has come is led to by nobody.
  void Link(const Step& step, EventRef event, const Phases& before, const State& state) {
    const size_t row = picture_.rows.size();
    if (step.Waits()) {
      const uint32_t need = step.kind == Step::Kind::kMeet ? state.meeting[event.agent] : step.need;
      auto arrival = completed_.find({step.barrier, need});
      if (arrival == completed_.end()) return;
      if (picture_.rows[arrival->second].lane == event.agent) return;
      picture_.edges.push_back({arrival->second, row});
    } else if (step.OnBarrier()) {
      const uint32_t complete = state.barriers[step.barrier].complete;
      for (uint32_t phase = before.complete + 1; phase <= complete; ++phase)
        completed_[{step.barrier, phase}] = row;
    }
  }

  std::string ArrivalNote(const Step& step, const Phases& before, const Phases& after) const {
    if (after.complete > before.complete)
      return fmt::format("{}: phase {} complete", Short(step), after.complete);
    std::string note = fmt::format("{}: {} of {} arrived", Short(step),
                                   after.expected - after.pending, after.expected);
    return after.tx == 0 ? note : fmt::format("{}, {} bytes to come", note, after.tx);
  }

  void Cut() {
    if (picture_.rows.size() <= max_rows_) return;
    picture_.earlier = picture_.rows.size() - max_rows_;
    picture_.rows.erase(picture_.rows.begin(),
                        picture_.rows.begin() + static_cast<long>(picture_.earlier));
    std::erase_if(picture_.edges,
                  [&](const PictureEdge& edge) { return edge.arrival < picture_.earlier; });
    for (PictureEdge& edge : picture_.edges) {
      edge.arrival -= picture_.earlier;
      edge.wait -= picture_.earlier;
    }
  }

  void AddEnd(const State& state) {
    std::set<std::pair<uint32_t, uint32_t>> shown;  // one agent a role at one place
    for (uint32_t agent = 0; agent < state.at.size(); ++agent) {
      const Step* step = machine_.Next(state, agent);
      const std::string& role = program_.protocol->roles[program_.agents[agent].role].name;
      const bool named = role == finding_.role || role == finding_.other;
      const bool stuck = finding_.code == "pipeline-deadlock";
      if (!step || !(named || stuck)) continue;
      if (finding_.code == "pipeline-race" && step->kind != Step::Kind::kAccess) continue;
      if (!stuck && !Concerns(*step, {agent, state.at[agent]})) continue;
      if (!shown.insert({program_.agents[agent].role, state.at[agent]}).second) continue;
      const Op& op = OpOf({agent, state.at[agent]});
      picture_.rows.push_back(
          {0, agent, Text(*program_.protocol, op), EndNote(state, agent, *step), op.line});
    }
  }

  std::string EndNote(const State& state, uint32_t agent, const Step& step) const {
    if (step.kind == Step::Kind::kAccess)
      return fmt::format("stage {}: may be now", program_.buffers[step.barrier].stage);
    const uint32_t complete = state.barriers[step.barrier].complete;
    if (step.kind == Step::Kind::kMeet)
      return fmt::format("waits: {} has met {} times, needs {}", Short(step), complete,
                         state.meeting[agent]);
    return fmt::format("{}: {} {} complete, needs {} (parity {}: {} numbers pass)",
                       machine_.Enabled(state, agent) ? "passes" : "waits", Short(step), complete,
                       step.need, (step.need + 1) % 2, step.need % 2 == 0 ? "even" : "odd");
  }

  // Lanes of the agents that are shown, in the order of the roles.
  void NameLanes() {
    std::map<uint32_t, uint32_t> lanes;
    for (const PictureRow& row : picture_.rows) lanes[row.lane] = 0;
    for (auto& [agent, lane] : lanes) {
      lane = static_cast<uint32_t>(picture_.lanes.size());
      const Agent& one = program_.agents[agent];
      const Role& role = program_.protocol->roles[one.role];
      picture_.lanes.push_back(role.warps > 1 ? fmt::format("{}.{}", role.name, one.warp)
                                              : role.name);
    }
    for (PictureRow& row : picture_.rows) row.lane = lanes[row.lane];
  }

  std::string Connection() const {
    for (const Pipe& pipe : program_.protocol->pipes) {
      if (pipe.name != finding_.subject) continue;
      auto names = [&](const Side& side) {
        std::vector<std::string> roles;
        for (uint32_t role : side.roles) roles.push_back(program_.protocol->roles[role].name);
        return fmt::format("{}", fmt::join(roles, "+"));
      };
      return fmt::format("{} ==full({})==> {} ==empty({})==> {}   {} stage{}",
                         names(pipe.producers), pipe.producers.arrivals, names(pipe.consumers),
                         pipe.consumers.arrivals, names(pipe.producers), pipe.stages,
                         pipe.stages == 1 ? "" : "s");
    }
    return "";
  }

  const Program& program_;
  const Finding& finding_;
  const Machine machine_;
  const size_t max_rows_;
  std::set<std::string> subjects_;
  std::map<std::pair<uint32_t, uint32_t>, size_t>
      completed_;  // barrier and phase: its last arrival
  Picture picture_;
};

}  // namespace

Picture MakePicture(const Program& program, const Finding& finding, size_t max_rows) {
  return Painter(program, finding, max_rows).Paint();
}

}  // namespace ss::pipeline
