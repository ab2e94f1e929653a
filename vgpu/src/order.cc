// What an operation has to wait for: rules 2, 4 and 15 of docs/semantics.md. Rule 5 is the
// caller's: a wait is a marker with the event's record at the call in `after`.
#include <algorithm>

#include "machine.h"

namespace ss::vgpu {

namespace {

void Add(const OpPtr& op, std::vector<OpPtr>* after) {
  if (op && !op->done) after->push_back(op);
}

bool OrdersWithLegacy(const Stream& stream) {
  return stream.kind == StreamKind::kBlocking || stream.kind == StreamKind::kPerThread;
}

}  // namespace

Op* Predecessor(const Op& op) {
  const auto& queue = op.stream->queue;  // ids grow along it
  auto at = std::lower_bound(queue.begin(), queue.end(), op.id,
                             [](const OpPtr& queued, uint64_t id) { return queued->id < id; });
  return at == queue.begin() ? nullptr : std::prev(at)->get();
}

OpPtr Machine::Issue(Stream& stream, NewOp what) {
  auto op = std::make_shared<Op>();
  op->id = NewId();
  op->work = what.work;
  op->stream = &stream;
  op->name = std::move(what.name);
  op->slices = what.slices;
  op->run = std::move(what.run);
  op->gate = std::move(what.gate);
  op->by_cpu = what.by_cpu;
  for (const OpPtr& before : what.after) Add(before, &op->after);
  if (stream.kind == StreamKind::kLegacy) {
    for (const auto& [key, other] : stream.context->streams) {
      if (OrdersWithLegacy(*other)) Add(other->tail, &op->after);
    }
  } else if (OrdersWithLegacy(stream)) {
    Add(stream.context->legacy->tail, &op->after);
  }
  for (const Context* context : {stream.context, stream.context->green_of}) {
    if (context && context->waits) Add(context->waits->tail, &op->after);
  }
  stream.queue.push_back(op);
  stream.tail = op;
  busy_[stream.id] = &stream;
  return op;
}

}  // namespace ss::vgpu
