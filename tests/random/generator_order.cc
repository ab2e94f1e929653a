// Events, waits and host threads.
#include "tests/random/generator.h"

namespace ss::random {

std::string Generator::Event() {
  if (events_.empty() || rng_.Percent(20)) events_.push_back(NewName("E"));
  return events_[events_.size() - 1 - rng_.Below(1 + rng_.Below(events_.size()))];
}

void Generator::RecordWait() {
  const size_t from = AnyStream();
  const std::string event = Event();
  EmitOn(from, "record " + event);
  if (rng_.Percent(30)) Kernel();
  EmitOn(OtherStream(from), "wait " + event);
}

void Generator::WaitStream() {
  const size_t stream = AnyStream();
  EmitOn(stream, "wait_stream " + streams_[OtherStream(stream)].name);
}

void Generator::Record() { EmitOn(AnyStream(), "record " + Event()); }
void Generator::Wait() { EmitOn(AnyStream(), "wait " + Event()); }

void Generator::Synchronise() {
  switch (rng_.Weighted({6, 4, 1})) {
    case 0:
      return EmitAnyHost("sync " + streams_[AnyStream()].name);
    case 1:
      return EmitAnyHost("sync " + Event());
    default:
      return EmitAnyHost(devices_ > 1 && rng_.Percent(40) ? "sync device 1" : "sync device");
  }
}

void Generator::Query() {
  const std::string what = rng_.Percent(70) ? Event() : streams_[AnyStream()].name;
  EmitAnyHost("query " + what + (rng_.Percent(70) ? " done" : " notready"));
}

void Generator::HandOff() {
  const std::string host = rng_.Pick(hosts_);
  if (rng_.Percent(50)) return Emit("handoff main " + host);
  Emit("handoff " + host + " main");
}

void Generator::HostAccess() {
  const auto live = Live("pinned pageable managed");
  if (live.empty()) return AllocPlain(rng_.Percent(60) ? "pinned" : "pageable");
  const std::string who = !hosts_.empty() && rng_.Percent(35) ? rng_.Pick(hosts_) : "main";
  Emit(who + (rng_.Percent(60) ? ": read " : ": write ") + Ranged(Hot(live), 20));
}

void Generator::HostFunction() {
  const auto live = Live("pinned pageable");
  if (live.empty()) return AllocPlain("pinned");
  EmitOn(AnyStream(),
         std::string("host_fn ") + (rng_.Percent(60) ? "read " : "write ") + Ranged(Hot(live), 20));
}

}  // namespace ss::random
