// Records about the process: threads, definitions, what the trace says of itself.
#include <array>
#include <string_view>
#include <utility>

#include "src/import/state.h"

namespace ss {
namespace {

constexpr uint32_t kMaxHosts = 0xFFFF;  // HostId

// Calls that bring memory to life which the memory map then does not know.
constexpr std::array<std::string_view, 3> kMapsMemory = {"cuMulticast", "cuGraphicsResource",
                                                         "cuImportExternalMemory"};

bool MapsMemory(const std::string& name) {
  for (std::string_view prefix : kMapsMemory) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::string> SplitCommand(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void Importer::State::On(const trace::Unknown&) { counts_.Add(Count::kUnknownRecords); }

void Importer::State::On(const trace::Process& record) {
  process_.pid = record.pid;
  process_.parent = record.parent;
  process_.start_ns = record.start_ns;
  process_.command = SplitCommand(record.command);
  process_.rank = record.rank;
  process_.late = record.late != 0;
  process_.driver_version = record.driver_version;
}

// "main" is the thread that the process began with, or the first one where the trace does not tell.
// A thread has its parent's name until it sets one: that says nothing.
void Importer::State::On(const trace::Thread& record) {
  const bool told = record.os_tid != 0 && process_.pid != 0;
  const bool is_main = told ? record.os_tid == process_.pid : threads_made_ == 0;
  if (is_main) main_os_name_ = record.name;
  std::string name = is_main ? "main" : record.name;
  if (!is_main && name == main_os_name_) name.clear();
  if (name.empty() && told) name = "thread#" + std::to_string(threads_made_);
  // Its first calls can carry lower numbers than this record.
  const bool seen = threads_.contains(now_.thread);
  now_.life = &ThreadOf(now_.thread, name);
  if (seen && !name.empty() && strings_.Get(now_.life->name) != name) {
    NameThread(*now_.life, FreeThreadName(name));
  }
}

void Importer::State::On(const trace::ThreadEnd&) {
  for (size_t i = syncs_.size(); i-- > 0;) {  // only in a damaged trace
    if (syncs_[i].thread != now_.thread) continue;
    EndSync(syncs_[i]);
    syncs_.erase(syncs_.begin() + static_cast<ptrdiff_t>(i));
  }
  for (StreamId stream : streams_.RemoveThread(now_.thread)) EmitDestroy(stream);
  Emit(OpKind::kHostEnd);
  counts_.Add(Count::kUnusedNotes, now_.life->notes.size());
  thread_names_.erase(now_.life->name);
  ended_hosts_.push_back(now_.life->host);
  threads_.erase(now_.thread);
  now_.life = nullptr;
}

void Importer::State::On(const trace::Text& record) { texts_.Add(record.text_id, record.text); }

void Importer::State::On(const trace::Stack& record) {
  stacks_.Add(static_cast<StackId>(record.stack_id), record.addresses);
}

void Importer::State::On(const trace::Module& record) {
  images_.push_back(record);
  pytorch_ = pytorch_ || record.path.find("/libc10_cuda.so") != std::string::npos;
}
void Importer::State::On(const trace::Dropped& record) { dropped_ += record.count; }

void Importer::State::On(const trace::Unmodelled& record) {
  unmodelled_[record.text_id] += record.count;
  maps_unseen_ = maps_unseen_ || MapsMemory(strings_.Get(texts_.Get(record.text_id)));
}

void Importer::State::On(const trace::ProcessEnd&) {
  process_.ended = true;
  process_.ended_ns = now_ns_;
  exiting_ = true;
}

void Importer::State::On(const trace::Fork& record) { process_.forked.push_back(record.child); }

// Totals, not differences: a later record replaces an earlier one.
void Importer::State::On(const trace::Counters& record) {
  for (size_t i = 0; i + 1 < record.counts.size(); i += 2) {
    call_counts_[record.counts[i]] = record.counts[i + 1];
  }
}

Importer::State::ThreadLife& Importer::State::ThreadOf(uint32_t thread, const std::string& name) {
  auto [it, is_new] = threads_.try_emplace(thread);
  ThreadLife& life = it->second;
  if (!is_new) return life;
  life.host = NewHost();
  life.number = threads_made_++;
  const std::string own = life.number == 0 ? "main" : "thread#" + std::to_string(life.number);
  NameThread(life, FreeThreadName(name.empty() ? own : name));
  return life;
}

// Ids of ended threads are used again only when there is no other: a lane of its own keeps a thread
// apart from the dead.
HostId Importer::State::NewHost() {
  if (hosts_made_ < kMaxHosts) return static_cast<HostId>(hosts_made_++);
  if (ended_hosts_.empty()) {
    counts_.Add(Count::kFoldedThreads);
    return static_cast<HostId>(kMaxHosts - 1);
  }
  const HostId host = ended_hosts_.front();
  ended_hosts_.pop_front();
  return host;
}

// Pools name all their threads alike; a report must be able to tell them apart.
StringId Importer::State::FreeThreadName(const std::string& wanted) {
  StringId name = strings_.Intern(wanted);
  for (int n = 2; thread_names_.contains(name); ++n) {
    name = strings_.Intern(wanted + "#" + std::to_string(n));
  }
  return name;
}

void Importer::State::NameThread(ThreadLife& life, StringId name) {
  if (life.name == name) return;
  thread_names_.erase(life.name);
  thread_names_.insert(name);
  life.name = name;
  if (host_names_.size() <= life.host) host_names_.resize(size_t{life.host} + 1);
  host_names_[life.host] = name;
  ThreadLife* caller = std::exchange(now_.life, &life);
  Op& op = Emit(OpKind::kHostBegin);
  op.name = name;
  op.aux = options_.rank;
  now_.life = caller;
}

}  // namespace ss
