// The trace of one rank, as the capture library would have written it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/trace/encode.h"
#include "src/trace/writer.h"

namespace ss {

constexpr uint64_t kContext = 0xC0;
constexpr uint64_t kFloat = 7;
enum NcclKind : uint64_t { kAllReduce = 1, kBroadcast, kReduce, kAllGather, kSend = 9, kRecv };

class RankTrace {
 public:
  // `rank` -1: the environment stated none.
  RankTrace(const std::string& path, int64_t rank) {
    writer_ = std::move(*trace::TraceWriter::Create(path));
    Put(trace::view::Process{.pid = 1000 + static_cast<uint64_t>(rank + 1),
                             .command = "train",
                             .rank = rank,
                             .driver_version = 13000});
    Put(trace::view::Thread{.os_tid = 1000 + static_cast<uint64_t>(rank + 1), .name = "train"});
    Put(trace::view::ContextCreate{.context = kContext, .arch = 90});
    for (uint64_t stream : {0xA0, 0xB0}) {
      Put(trace::view::StreamCreate{.stream = stream, .context = kContext, .flags = 1});
    }
    Put(trace::view::Alloc{.address = kData, .bytes = 1 << 20, .kind = 1, .context = kContext});
  }

  template <typename View>
  void Put(const View& view) {
    uint8_t buffer[4096];
    const uint64_t before = ++seq_;
    size_t bytes = trace::Encode(buffer, sizeof buffer, before, ++seq_, view);
    writer_->Add(1, {buffer, bytes});
  }

  void Comm(uint64_t handle, uint64_t identity, int64_t member, uint64_t ranks) {
    Put(trace::view::NcclComm{
        .comm = handle, .how = 1, .rank = member, .ranks = ranks, .identity = identity});
  }
  void Split(uint64_t handle, uint64_t parent, int64_t color, int64_t member, uint64_t ranks) {
    Put(trace::view::NcclComm{.comm = handle,
                              .how = 2,
                              .rank = member,
                              .ranks = ranks,
                              .parent = parent,
                              .color = color});
  }

  void Begin() { grouped_ = ++group_; }
  void End() { Close(std::exchange(grouped_, 0), 1); }
  // `returns` false: it never did.
  void Call(uint64_t kind, uint64_t comm, uint64_t stream, int64_t peer = -1, uint64_t count = 64,
            uint64_t datatype = kFloat, bool returns = true) {
    const uint64_t group = grouped_ ? grouped_ : ++group_;
    const uint64_t data = kData + ((stream & 0x10) << 15);  // streams share no memory
    Put(trace::view::NcclCall{.comm = comm,
                              .kind = kind,
                              .send = kind == kRecv ? 0 : data,
                              .receive = kind == kSend ? 0 : data,
                              .count = count,
                              .datatype = datatype,
                              .peer = peer,
                              .stream = stream,
                              .context = kContext,
                              .group = group});
    if (!grouped_ && returns) Close(group, 0);
  }

  // The end of the process, an orderly one; without it the rank was killed, or is not through.
  void Exit() { Put(trace::view::ProcessEnd{}); }
  ~RankTrace() { (void)writer_->Close(); }

 private:
  static constexpr uint64_t kData = 0x7f0000000000;

  void Close(uint64_t group, uint64_t how) {
    Put(trace::view::NcclGroupEnd{.group = group, .how = how, .calls = 1});
  }

  std::unique_ptr<trace::TraceWriter> writer_;
  uint64_t seq_ = 0, group_ = 0, grouped_ = 0;
};

}  // namespace ss
