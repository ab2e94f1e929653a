#include "tests/random/generator.h"

#include <algorithm>
#include <sstream>

#include "tests/random/text.h"

namespace ss::random {
namespace {

constexpr const char* kOnDevice = "caching pool device managed mapped view";

}  // namespace

std::vector<std::string> Generator::Lines() {
  Declare();
  const auto choices = Choices();
  std::vector<int> weights;
  for (const Choice& choice : choices) weights.push_back(choice.weight);
  // Most programs are short, some are long.
  const int span = size_.most - size_.least;
  const int length = size_.least + static_cast<int>(rng_.Below(1 + rng_.Below(span + 1)));
  const size_t least = static_cast<size_t>(length);
  while (lines_.size() < least) (this->*choices[rng_.Weighted(weights)].action)();
  if (lines_.size() > static_cast<size_t>(size_.most)) lines_.resize(size_.most);
  // A capture that was cut goes.
  for (size_t i = lines_.size(); i-- > 0 && lines_[i] != "end";) {
    if (!lines_[i].starts_with("capture ")) continue;
    lines_.resize(i);
    break;
  }
  return lines_;
}

void Generator::Declare() {
  if (rng_.Percent(50)) Emit(rng_.Percent(50) ? "mode strict" : "mode default");
  profile_.order = rng_.Between(4, 16);
  profile_.host = rng_.Percent(60) ? rng_.Between(1, 8) : 0;
  profile_.lifetime = rng_.Percent(70) ? rng_.Between(1, 8) : 0;
  profile_.copies = rng_.Percent(60) ? rng_.Between(1, 6) : 0;
  profile_.idioms = rng_.Between(2, 12);
  profile_.strays = rng_.Percent(20) ? 4 : 0;
  profile_.programmatic = rng_.Percent(15) ? 30 : 0;
  profile_.graphs = rng_.Percent(15) ? rng_.Between(4, 10) : 0;
  profile_.ranges = rng_.Percent(15) ? rng_.Between(2, 6) : 0;
  profile_.rows = rng_.Percent(20) ? rng_.Between(5, 25) : 0;
  profile_.flags = rng_.Percent(12) ? rng_.Between(2, 8) : 0;
  profile_.contexts = rng_.Percent(15) ? rng_.Between(4, 10) : 0;
  devices_ = rng_.Percent(20) ? 2 : 1;
  for (int extra = rng_.Percent(45) ? rng_.Between(1, 2) : 0; extra > 0; --extra) {
    hosts_.push_back(extra == 2 ? "watchdog" : "worker");
    Emit("host " + hosts_.back());
  }
  DeclareStreams();
  for (int i = rng_.Between(1, 3); i > 0; --i) AllocPlain("device");
}

std::string Generator::StreamType() {
  static const std::vector<std::string> kTypes = {"", "nonblocking", "blocking"};
  return rng_.Percent(65) ? "" : rng_.Pick(kTypes);
}

void Generator::DeclareStreams() {
  const bool implicit = rng_.Percent(35);  // a program that lives with the legacy stream
  for (int i = rng_.Between(2, 4); i > 0; --i) {
    streams_.push_back({NewName("s"), implicit && rng_.Percent(60) ? "blocking" : StreamType(),
                        devices_ > 1 && rng_.Percent(35) ? 1 : 0});
  }
  if (implicit) streams_.push_back({"legacy", "legacy", 0});
  if (rng_.Percent(implicit ? 40 : 10)) streams_.push_back({"mine", "per-thread", 0});
  DeclareContexts();
  for (const Stream& stream : streams_) Emit(Declaration(stream));
}

std::vector<Generator::Choice> Generator::Choices() const {
  const Profile& p = profile_;
  using G = Generator;
  return {{30, &G::Kernel},
          {2, &G::Atomic},
          {p.order, &G::RecordWait},
          {p.order, &G::WaitStream},
          {1 + p.order / 4, &G::Record},
          {1 + p.order / 4, &G::Wait},
          {1 + p.host, &G::Synchronise},
          {p.host, &G::Query},
          {hosts_.empty() ? 0 : 2 + p.host, &G::HandOff},
          {p.host, &G::HostAccess},
          {p.host / 2, &G::HostFunction},
          {3 + p.lifetime, &G::Alloc},
          {p.lifetime, &G::Free},
          {p.lifetime, &G::Reuse},
          {p.lifetime / 2, &G::RecordStream},
          {1 + p.lifetime / 2, &G::Fill},
          {1, &G::View},
          {p.copies * 2, &G::Copy},
          {1 + p.copies / 2, &G::Memset},
          {p.idioms, &G::ProducerConsumer},
          {p.lifetime ? p.idioms : 0, &G::TemporaryOnOtherStream},
          {p.copies ? p.idioms / 2 : 0, &G::Staging},
          {p.copies ? p.idioms / 2 : 0, &G::ReadBack},
          {p.lifetime ? p.idioms / 2 : 0, &G::PoolTemporary},
          {hosts_.empty() || !p.lifetime ? 0 : p.idioms / 2, &G::Watchdog},
          {Legacy() ? p.idioms / 2 : 0, &G::LegacyBarrier},
          {p.graphs, &G::CaptureGraph},
          {p.graphs * 2, &G::LaunchGraph},
          {p.contexts, &G::ContextRecord},
          {p.contexts, &G::ContextWait},
          {p.contexts / 2, &G::WaitForContext},
          {p.contexts / 3, &G::ContextSync},
          {p.contexts, &G::ContextBarrier},
          {p.ranges * 2, &G::Map},
          {p.ranges, &G::Unmap},
          {p.ranges * 2, &G::AllocAt},
          {profile_.flags, &G::Signal},
          {profile_.flags, &G::Await},
          {profile_.flags, &G::SignalAwait},
          {1, &G::DestroyAndRedeclare}};
}

std::string Generator::AnyHost() {
  const bool other = !hosts_.empty() && rng_.Percent(35);
  return other ? "@" + rng_.Pick(hosts_) + " " : "";
}

void Generator::EmitAnyHost(const std::string& statement) {
  Emit(AnyHost() + statement);
}

void Generator::EmitOn(size_t stream, const std::string& operation) {
  EmitTogether(stream, {operation});
}

void Generator::EmitTogether(size_t stream, const std::vector<std::string>& operations) {
  const std::string host = AnyHost();
  for (const std::string& operation : operations) {
    Emit(host + streams_[stream].name + ": " + operation);
  }
}

size_t Generator::AnyStream() {
  for (;;) {
    const size_t stream = rng_.Below(streams_.size());
    if (streams_[stream].live) return stream;
  }
}

const Generator::Stream* Generator::Legacy() const {
  for (const Stream& stream : streams_) {
    if (stream.type == "legacy") return &stream;
  }
  return nullptr;
}

size_t Generator::OtherStream(size_t than) {
  for (int tries = 0; tries < 8; ++tries) {
    const size_t stream = AnyStream();
    if (stream != than) return stream;
  }
  return than;
}

std::vector<size_t> Generator::Live(const std::string& kinds) {
  const bool stray = rng_.Percent(profile_.strays);
  std::istringstream words(kinds);
  std::vector<size_t> found;
  for (std::string kind; words >> kind;) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& buffer = buffers_[i];
      if (buffer.kind == kind && buffer.size > 0 && (stray || !buffer.freed)) found.push_back(i);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Recent buffers more often: programs work on something for a while.
size_t Generator::Hot(const std::vector<size_t>& buffers) {
  const size_t back = rng_.Below(1 + rng_.Below(buffers.size()));
  return buffers[buffers.size() - 1 - back];
}

std::string Generator::Rows(size_t buffer, int row, int count) {
  const Buffer& b = buffers_[buffer];
  const int size = b.size * 4;
  for (int factor = rng_.Between(2, 4); factor > 0; --factor) {
    const int pitch = row * factor;
    const int span = pitch * (count - 1) + row;
    if (span > size) continue;
    const int begin = rng_.Between(0, size - span);
    return b.name + "[" + std::to_string(begin) + "K:" + std::to_string(begin + row) + "K pitch " +
           std::to_string(pitch) + "K rows " + std::to_string(count) + "]";
  }
  return "";
}

std::string Generator::Ranged(size_t buffer, int percent) {
  if (rng_.Percent(profile_.rows)) {
    const std::string rows = Rows(buffer, rng_.Between(1, 2), rng_.Between(2, 4));
    if (!rows.empty()) return rows;
  }
  const Buffer& b = buffers_[buffer];
  const bool part = b.size >= 2 && rng_.Percent(percent);
  if (!part && b.kind != "mapped") return b.name;  // of a reserved range never all
  const int begin = part ? rng_.Between(0, b.size - 1) : 0;
  const int end = part ? rng_.Between(begin + 1, b.size) : b.size;
  return b.name + "[" + std::to_string(begin * 4) + "K:" + std::to_string(end * 4) + "K]";
}

std::string Generator::Accesses(int most) {
  const auto live = Live(kOnDevice);
  std::string text;
  for (int i = live.empty() ? 0 : rng_.Between(1, most); i > 0; --i) {
    text += rng_.Percent(55) ? " read " : " write ";
    text += Ranged(Hot(live), 15);
  }
  return text;
}

void Generator::Kernel() {
  const size_t stream = AnyStream();
  const bool programmatic = rng_.Percent(profile_.programmatic);
  const bool waits = programmatic && rng_.Percent(50);
  std::string kernel = "kernel " + NewName("k");
  if (waits && rng_.Percent(40)) kernel += kEarly;
  kernel += Accesses(3);
  if (programmatic) kernel = (waits ? "pdl_wait " : "pdl ") + kernel;
  if (profile_.programmatic && rng_.Percent(10)) kernel += " launch_event " + Event();
  EmitOn(stream, kernel);
}

void Generator::Atomic() {
  const auto live = Live(kOnDevice);
  if (!live.empty())
    EmitOn(AnyStream(), "kernel " + NewName("k") + " atomic " + Ranged(Hot(live), 20));
}

// The name comes back, the lane does not. Blocking streams are left alone: what the legacy stream
// owes to a destroyed one is not documented.
void Generator::DestroyAndRedeclare() {
  const size_t stream = AnyStream();
  Stream& s = streams_[stream];
  if (s.type != "" && s.type != "nonblocking") return;
  for (const Buffer& buffer : buffers_) {
    if (buffer.owner == stream && !buffer.freed && buffer.kind != "device") return;
  }
  Emit("destroy " + s.name);
  Emit(Declaration(s));
}

}  // namespace ss::random
