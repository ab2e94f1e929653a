// What real programs do, as short sequences, each now and then with a step left out.
#include "tests/random/generator.h"

namespace ss::random {

void Generator::ProducerConsumer() {
  const auto live = Live("caching device managed view");
  if (live.empty()) return;
  const std::string name = buffers_[Hot(live)].name;
  const size_t producer = AnyStream(), consumer = OtherStream(producer);
  EmitOn(producer, "kernel " + NewName("k") + " write " + name);
  if (rng_.Percent(80)) EmitOn(consumer, "wait_stream " + streams_[producer].name);
  EmitOn(consumer, "kernel " + NewName("k") + " read " + name);
  if (rng_.Percent(50)) EmitOn(producer, "wait_stream " + streams_[consumer].name);
}

// A block of one stream that another one uses and then drops: incident 1 and FSDP's gradients.
void Generator::TemporaryOnOtherStream() {
  AllocCaching();
  const size_t index = buffers_.size() - 1;
  const std::string name = buffers_[index].name;
  const size_t owner = buffers_[index].owner, user = OtherStream(owner);
  const bool user_waits = rng_.Percent(85);
  EmitOn(owner, "kernel " + NewName("k") + " write " + name);
  if (user_waits) EmitOn(user, "wait_stream " + streams_[owner].name);
  EmitOn(user, "kernel " + NewName("k") + " read " + name);
  const size_t how = rng_.Below(5);
  if (how == 0) EmitAnyHost("record_stream " + name + " " + streams_[user].name);
  if (how == 1) EmitOn(owner, "wait_stream " + streams_[user].name);
  if (how == 2) EmitAnyHost("sync " + streams_[user].name);
  FreeAt(index);
  if (rng_.Percent(30)) Kernel();
  if (how == 3) EmitOn(owner, "wait_stream " + streams_[user].name);
  if (rng_.Percent(60)) Reuse();
}

// Host data in: write, copy, kernel, and the buffer written again.
void Generator::Staging() {
  AllocPlain(rng_.Percent(50) ? "pinned" : "pageable");
  const Buffer host = buffers_.back();
  AllocPlain("device", host.size);
  const std::string device = buffers_.back().name;
  const size_t stream = AnyStream();
  Emit("main: write " + host.name);
  EmitOn(stream,
         std::string(rng_.Percent(30) ? "copy_sync " : "copy ") + device + " <- " + host.name);
  EmitOn(rng_.Percent(60) ? stream : AnyStream(), "kernel " + NewName("k") + " read " + device);
  if (rng_.Percent(40)) EmitAnyHost("sync " + streams_[stream].name);
  if (rng_.Percent(60)) Emit("main: write " + host.name);
}

// Results out: copy to the host, learn that it is done, read.
void Generator::ReadBack() {
  const auto sources = Live("device managed");
  if (sources.empty()) return;
  const Buffer source = buffers_[Hot(sources)];
  AllocPlain(rng_.Percent(60) ? "pinned" : "pageable", source.size);
  const Buffer host = buffers_.back();
  const size_t stream = AnyStream();
  EmitOn(stream,
         std::string(rng_.Percent(30) ? "copy_sync " : "copy ") + host.name + " <- " + source.name);
  const std::string event = Event();
  switch (rng_.Below(5)) {
    case 0:
      EmitAnyHost("sync " + streams_[stream].name);
      break;
    case 1:
      EmitOn(stream, "record " + event);
      EmitAnyHost("query " + event + " done");
      break;
    case 2:
      EmitOn(stream, "host_fn read " + host.name);
      break;
    case 3:
      EmitOn(stream, "record " + event);
      EmitAnyHost("sync " + event);
      break;
    default:
      break;
  }
  Emit("main: read " + host.name);
}

void Generator::PoolTemporary() {
  AllocAsync();
  const size_t index = buffers_.size() - 1;
  const std::string name = buffers_[index].name;
  const size_t owner = buffers_[index].owner, user = OtherStream(owner);
  if (rng_.Percent(50)) EmitOn(owner, "kernel " + NewName("k") + " write " + name);
  if (rng_.Percent(80)) EmitOn(user, "wait_stream " + streams_[owner].name);
  EmitOn(user, "kernel " + NewName("k") + " read " + name);
  if (rng_.Percent(80)) EmitOn(owner, "wait_stream " + streams_[user].name);
  if (rng_.Percent(85)) FreeAt(index);
}

// Another thread sees the completion, then the block is dropped (ProcessGroupNCCL).
void Generator::Watchdog() {
  AllocCaching();
  const size_t index = buffers_.size() - 1;
  const std::string name = buffers_[index].name;
  const size_t user = OtherStream(buffers_[index].owner);
  const std::string event = NewName("E");
  Emit(streams_[buffers_[index].owner].name + ": kernel " + NewName("k") + " write " + name);
  Emit(streams_[user].name + ": wait_stream " + streams_[buffers_[index].owner].name);
  Emit(streams_[user].name + ": kernel " + NewName("k") + " read " + name);
  Emit(streams_[user].name + ": record " + event);
  Emit("@" + rng_.Pick(hosts_) + " query " + event + (rng_.Percent(80) ? " done" : " notready"));
  FreeAt(index);
  if (rng_.Percent(70)) Reuse();
}

// Blocking streams that rely on the legacy stream between them.
void Generator::LegacyBarrier() {
  const auto live = Live("caching device managed");
  if (live.empty()) return;
  const std::string name = buffers_[Hot(live)].name;
  const std::string legacy = Legacy()->name;
  EmitOn(AnyStream(), "kernel " + NewName("k") + " write " + name);
  static const std::vector<std::string> kBarriers = {"kernel bar", "record EL", "kernel bar read "};
  std::string barrier = rng_.Pick(kBarriers);
  if (barrier.back() == ' ') barrier += name;
  EmitAnyHost(rng_.Percent(25) ? "sync " + legacy : legacy + ": " + barrier);
  EmitOn(AnyStream(), "kernel " + NewName("k") + " read " + name);
}

}  // namespace ss::random
