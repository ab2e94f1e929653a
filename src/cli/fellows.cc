#include "src/cli/fellows.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "src/cli/installation.h"
#include "src/cli/mpi/gather.h"
#include "src/cli/wire.h"
#include "src/program/picture.h"

namespace ss {

// --- what is sent: found by the type of its argument

template <typename A>
void Visit(A& a, Instance& x) {
  a.All(x.first_index, x.second_index);
}
template <typename A>
void Visit(A& a, Site& x) {
  a.All(x.op, x.index, x.kind, x.name, x.label, x.lane, x.host, x.lane_aliases, x.stream,
        x.launch_stream, x.host_id, x.rank, x.among_ranks, x.access, x.begin, x.end, x.direction,
        x.extent, x.stack, x.line);
}
template <typename A>
void Visit(A& a, BufferRef& x) {
  a.All(x.id, x.name, x.aliases, x.bytes, x.begin, x.end, x.owner, x.memory, x.owner_stream,
        x.owner_host, x.alloc_stack, x.alloc_line);
}
template <typename A>
void Visit(A& a, Fix& x) {
  a.All(x.kind, x.consumer, x.producer, x.buffer, x.text, x.verified, x.alike, x.cost,
        x.path_before, x.path_after);
}
template <typename A>
void Visit(A& a, Finding& x) {
  a.All(x.source, x.code, x.severity, x.confidence, x.count, x.struck, x.absorbed, x.unsettled,
        x.handover_only, x.buffer, x.first, x.second, x.reuse, x.producer, x.edge_from, x.edge_to,
        x.root_cause, x.evidence, x.evidence_sites, x.fixes, x.change, x.instances, x.timeline);
}
template <typename A>
void Visit(A& a, Trial& x) {
  a.All(x.id, x.first, x.second, x.outcome, x.seconds, x.result);
}
template <typename A>
void Visit(A& a, Advice& x) {
  a.All(x.source, x.code, x.subject, x.aliases, x.text, x.count, x.site);
}
template <typename A>
void Visit(A& a, Coverage::Unmodelled& x) {
  a.All(x.name, x.count);
}
template <typename A>
void Visit(A& a, Coverage& x) {
  a.All(x.complete, x.dropped, x.late, x.calls, x.calls_modelled, x.launches, x.launches_resolved,
        x.muted_private, x.unmodelled, x.notes);
}
template <typename A>
void Visit(A& a, Stats& x) {
  a.All(x.operations, x.accesses, x.lanes, x.seconds);
}
const char* LaneKind(const std::string& kind) {
  for (const char* known : {"host thread", "stream", "graph branch"}) {
    if (kind == known) return known;
  }
  return "";
}
template <typename A>
void Visit(A& a, Picture::Lane& x) {
  std::string kind = x.kind;
  a.All(x.name, kind);
  x.kind = LaneKind(kind);
}
template <typename A>
void Visit(A& a, Picture::Operation& x) {
  a.All(x.op, x.index, x.kind, x.lane, x.name, x.touch_begin, x.stack, x.line, x.orders_nothing);
}
template <typename A>
void Visit(A& a, Picture::Touch& x) {
  a.All(x.life, x.mode, x.begin, x.end);
}
template <typename A>
void Visit(A& a, Picture::Edge& x) {
  a.All(x.from, x.to);
}
template <typename A>
void Visit(A& a, Picture::Life& x) {
  a.All(x.buffer, x.name, x.bytes, x.owner, x.born, x.died, x.heir_of);
}
template <typename A>
void Visit(A& a, Picture& x) {
  a.All(x.source, x.rank, x.lanes, x.names, x.operations, x.touches, x.edges, x.lives, x.left_out);
}
template <typename A>
void Visit(A& a, Trail& x) {
  a.All(x.finished, x.next, x.behind);
}
template <typename A>
void Visit(A& a, Report& x) {
  std::vector<Picture> pictures;
  for (const auto& picture : x.pictures) pictures.push_back(*picture);
  a.All(x.program, x.title, x.pid, x.findings, x.advice, x.running, x.trails, x.trials, x.coverage,
        x.stats, pictures);
  x.pictures.clear();
  for (Picture& picture : pictures) {
    x.pictures.push_back(std::make_shared<Picture>(std::move(picture)));
  }
}
template <typename A>
void Visit(A& a, CommEnd& x) {
  a.All(x.identity, x.name, x.member, x.ranks, x.aborted, x.stack);
}
template <typename A>
void Visit(A& a, CollectiveOp& x) {
  a.All(x.id, x.index, x.group, x.stream, x.host, x.lane_name, x.host_name, x.label, x.stack,
        x.line, x.after_begin, x.after_count);
}
template <typename A>
void Visit(A& a, CollectiveCall& x) {
  a.All(x.op, x.comm, x.kind, x.datatype, x.reduction, x.peer, x.bytes);
}
template <typename A>
void Visit(A& a, RankCalls& x) {
  a.All(x.rank, x.has_rank, x.from_start, x.to_end, x.comms, x.ops, x.calls, x.after, x.names);
}
template <typename A>
void Visit(A& a, Frame& x) {
  a.All(x.fn, x.file, x.line, x.module, x.offset);
}
template <typename A>
void Visit(A& a, ModuleMap& x) {
  a.All(x.bias, x.begin, x.end, x.path, x.build_id);
}
template <typename A>
void Visit(A& a, ProcessStacks::Stack& x) {
  a.All(x.id, x.front, x.addresses);
}
template <typename A>
void Visit(A& a, ProcessStacks& x) {
  a.All(x.modules, x.stacks);
}
template <typename A>
void Visit(A& a, SharedThing& x) {
  a.All(x.event, x.opened, x.id, x.handle, x.ns, x.waits);
}
template <typename A>
void Visit(A& a, Analysed& x) {
  a.All(x.report, x.calls, x.stacks, x.shared);
}
template <typename A>
void Visit(A& a, Error& x) {
  a.All(x.place, x.message, x.remedy);
}
template <typename A>
void Visit(A& a, Part& x) {
  a.All(x.index, x.failed, x.error, x.analysed);
}

namespace {

// Launchers tell each process how many it has started.
bool StartedByMpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    const char* count = std::getenv(name);
    if (count && std::atoi(count) > 1) return true;
  }
  return false;
}

void TakeParts(void* parts, const char* bytes, uint64_t size) {
  std::vector<Part> more;
  Unpacker unpacker(bytes, size);
  unpacker.All(more);
  if (!unpacker.whole()) std::abort();  // not of this build
  auto& all = *static_cast<std::vector<Part>*>(parts);
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

// The library is opened here and not linked: programs that are no MPI job must not need MPI.
struct Fellows::Mpi {
  StreamsanMpiStart* start = nullptr;
  StreamsanMpiGather* gather = nullptr;
  StreamsanMpiEnd* end = nullptr;

  bool Open() {
    const std::string bin = ProgramDirectory();
    for (const char* folder : {"/../lib/", "/../lib64/", "/"}) {
      const std::string path = bin + folder + "libstreamsan_mpi.so";
      void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (library == nullptr) continue;
      start = reinterpret_cast<StreamsanMpiStart*>(dlsym(library, "streamsan_mpi_start"));
      gather = reinterpret_cast<StreamsanMpiGather*>(dlsym(library, "streamsan_mpi_gather"));
      end = reinterpret_cast<StreamsanMpiEnd*>(dlsym(library, "streamsan_mpi_end"));
      return start && gather && end;
    }
    return false;
  }
};

Fellows::Fellows() {
  if (!StartedByMpirun()) return;
  auto mpi = std::make_unique<Mpi>();
  int rank = 0, count = 1;
  if (!mpi->Open() || !mpi->start(&rank, &count)) return;
  mpi_ = std::move(mpi);
  share_ = {static_cast<size_t>(rank), static_cast<size_t>(count)};
}

Fellows::~Fellows() = default;

std::vector<Part> Fellows::Gather(std::vector<Part> parts) {
  if (!mpi_) return parts;
  Packer packer;
  packer.All(parts);
  const std::string bytes = packer.Take();
  std::vector<Part> all;
  mpi_->gather(bytes.data(), bytes.size(), TakeParts, &all);
  std::sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.index < b.index; });
  return all;
}

int Fellows::End(int code) { return mpi_ ? mpi_->end(code) : code; }

}  // namespace ss
