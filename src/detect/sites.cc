// Names of what a finding is about, and which findings are the same one.

#include <fmt/format.h>

#include "src/detect/checker.h"
#include "src/model/graphs.h"
#include "src/program/op_names.h"

namespace ss {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

uint64_t Hash(std::string_view text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

}  // namespace

std::string Checker::StreamName(StreamId id, HostId host) const {
  const Stream* stream = order_.FindStream(id, host);
  if (stream == nullptr) return "";
  std::string name = program_.strings.Get(stream->name);
  if (name.empty()) name = fmt::format("stream#{}", id);
  bool foreign = stream->type == StreamType::kPerThread && stream->thread != 0;
  if (!foreign) return name;
  return name + "@" + program_.strings.Get(order_.HostName(stream->thread));
}

const std::string& Checker::EventName(EventId id) const {
  static const std::string kUnnamed;
  return id < program_.event_names.size() ? program_.event_names[id] : kUnnamed;
}

std::string Checker::BufferName(const Tenant& tenant) const {
  return BufferName(tenant.name, tenant.id);
}

std::string Checker::BufferName(StringId id, BufferId buffer) const {
  return BufferLabel(program_.strings, id, buffer);
}

// What a host function touches is in its stream's order, whatever thread queued the function.
std::string Checker::LaneName(const Op& op) const {
  bool in_host_function = op.kind == OpKind::kHostAccess && op.aux == 1;
  bool on_stream = op.stream != 0 && op.kind != OpKind::kAlloc && op.kind != OpKind::kFree &&
                   op.kind != OpKind::kRecordStream &&
                   (op.kind != OpKind::kHostAccess || in_host_function);
  return on_stream ? StreamName(op.stream, op.host)
                   : program_.strings.Get(order_.HostName(op.host));
}

Site Checker::MakeSite(const Op& op, size_t index) const {
  Site site;
  site.op = op.id;
  site.index = index;
  site.kind = op.kind;
  site.name = op.kind == OpKind::kAlloc || op.kind == OpKind::kFree ||
                      op.kind == OpKind::kAllocAsync || op.kind == OpKind::kFreeAsync ||
                      op.name == 0
                  ? Name(op.kind)
                  : program_.strings.Get(op.name);
  site.label = program_.strings.Get(op.label);
  site.lane = LaneName(op);
  site.host = program_.strings.Get(order_.HostName(op.host));
  site.host_id = op.host;
  site.rank = order_.HostRank(op.host);
  // In the order of a stream or not: what it does to the block is the same.
  site.access = Name(op.kind == OpKind::kAllocAsync  ? OpKind::kAlloc
                     : op.kind == OpKind::kFreeAsync ? OpKind::kFree
                                                     : op.kind);
  site.stack = op.stack;
  site.line = op.line;
  bool on_stream = site.lane != site.host || (op.stream != 0 && op.kind != OpKind::kHostAccess);
  if (on_stream) site.stream = op.stream;
  if (const Stream* stream = site.stream ? order_.FindStream(op.stream, op.host) : nullptr) {
    const std::string& bare = program_.strings.Get(stream->name);
    if (bare != site.lane) site.lane_aliases.push_back(bare);
    if (stream->type == StreamType::kGraph) {
      size_t slash = bare.find('/');
      site.lane_aliases = {bare.substr(slash + 1), bare.substr(0, slash)};
      site.launch_stream = LaunchedOn(op);
      if (site.launch_stream != 0)
        site.lane_aliases.push_back(StreamName(site.launch_stream, op.host));
    }
  }
  return site;
}

Site Checker::MakeSite(const Entry& entry, const Tenant& tenant) const {
  Site site = MakeSite(log_.Get(entry.index), entry.index);
  site.access = ModeName(entry.mode);
  auto relative = [&](uint64_t address) {
    return std::min(std::max(address, tenant.begin), tenant.end) - tenant.begin;
  };
  site.begin = relative(entry.begin);
  site.end = relative(entry.end);
  if (entry.shape != 0) site.rows = program_.shapes.Get(entry.shape);
  site.direction = static_cast<Evidence>(entry.evidence & 0xf);
  site.extent = static_cast<Evidence>(entry.evidence >> 4);
  return site;
}

// Where two accesses that meet at one byte part again, as far as that is known.
uint64_t Checker::EndOf(const Entry& first, const Entry& second, uint64_t end) const {
  const bool narrowed = !first.KnownExtent() || !second.KnownExtent();
  return options_.beginnings_only && narrowed ? std::max(end, std::min(first.end, second.end))
                                              : end;
}

BufferRef Checker::MakeBuffer(const Tenant& tenant, uint64_t begin, uint64_t end) const {
  BufferRef buffer;
  buffer.id = tenant.id;
  buffer.name = BufferName(tenant);
  for (size_t i = 0; i < tenant.alias_count; ++i) {
    buffer.aliases.push_back(BufferName(tenant.aliases[i].name, tenant.aliases[i].id));
  }
  buffer.bytes = tenant.end - tenant.begin;
  buffer.begin = std::max(begin, tenant.begin) - tenant.begin;
  buffer.end = std::min(end, tenant.end) - tenant.begin;
  if (tenant.owner != 0) buffer.owner = StreamName(tenant.owner, tenant.alloc.host);
  buffer.memory = tenant.kind;
  buffer.owner_stream = tenant.owner;
  buffer.owner_host = tenant.alloc.host;
  buffer.alloc_stack = tenant.alloc.stack;
  buffer.alloc_line = tenant.alloc.line;
  return buffer;
}

// Where in the program: a litmus line, else the call stack, else what ran on which lane.
uint64_t Checker::SiteHash(const Op& op) const {
  uint64_t hash = Mix(static_cast<uint64_t>(op.kind), op.line);
  hash = Mix(hash, Hash(program_.strings.Get(op.name)));
  return Mix(hash, op.stack != 0 ? op.stack : Hash(LaneName(op)));
}

// What tells the subjects of advice apart: a name, or where the buffer was allocated. Not its id:
// every step of a training run has new ones.
uint64_t Checker::SubjectHash(const Tenant& tenant) const {
  const std::string& name = program_.strings.Get(tenant.name);
  if (!name.empty()) return Hash(name);
  return Mix(tenant.alloc.line,
             tenant.alloc.stack != 0 ? tenant.alloc.stack : Hash(BufferName(tenant)));
}

size_t Checker::AddFinding(Finding finding, const Op& first, const Op& second,
                           const Tenant& tenant) {
  uint64_t sites = Mix(SiteHash(first), SiteHash(second));
  uint64_t where = Mix(sites, tenant.alloc.line ? tenant.alloc.line : tenant.alloc.stack);
  std::string name = program_.strings.Get(tenant.name);
  std::string key = fmt::format("{}|{}|{:x}|{}", finding.code, name, where, finding.absorbed);
  auto [found, fresh] = by_key_.emplace(key, findings_.size());
  if (fresh) {
    findings_.push_back(std::move(finding));
    keys_.push_back(key);
    return found->second;
  }
  Finding& known = findings_[found->second];
  ++known.count;
  known.confidence = std::max(known.confidence, finding.confidence);
  if (known.instances.size() < options_.max_instances)
    known.instances.push_back(finding.instances[0]);
  return found->second;
}

}  // namespace ss
