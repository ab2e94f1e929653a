#include "src/kernels/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "src/kernels/analyse.h"
#include "src/kernels/select.h"
#include "src/trace/crc32c.h"
#include "src/trace/nccl.h"

namespace ss::kernels {
namespace {

constexpr uint64_t kMaxImage = uint64_t{4} << 30;
// What NCCL's kernels touch is in work lists behind pointers and tables of functions: their code
// says nothing, and there are hundreds of megabytes of it. Its calls are seen instead.
constexpr char kNcclKernel[] = "a kernel of NCCL, whose calls are seen instead";
constexpr char kChanged[] = "has changed since it was loaded";
constexpr char kRecordAgain[] = "record it again, or put the file back";
constexpr char kAsItWas[] = "analyse the trace where the program's files are";
constexpr size_t kChecked = 4096;  // bytes at each end that Image::checksum covers

uint32_t ChecksumOf(std::string_view bytes) {
  std::string_view head = bytes.substr(0, kChecked);
  std::string_view tail = bytes.substr(bytes.size() - std::min(kChecked, bytes.size()));
  return trace::Crc32c(tail.data(), tail.size(), trace::Crc32c(head.data(), head.size()));
}

// The part of a file that an Image record names; all of it from the offset on where it says no
// length.
Result<std::string> ReadPart(const trace::Image& info) {
  std::ifstream file(info.path, std::ios::binary | std::ios::ate);
  if (!file) return Fail(info.path, "cannot be read", kAsItWas);
  uint64_t size = static_cast<uint64_t>(file.tellg());
  uint64_t left = size - std::min(size, info.offset);
  uint64_t bytes = info.bytes ? info.bytes : left;
  if (bytes > left || bytes > kMaxImage) return Fail(info.path, kChanged, kRecordAgain);
  std::string data(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(info.offset));
  if (!file.read(data.data(), static_cast<std::streamsize>(bytes))) {
    return Fail(info.path, "cannot be read", kAsItWas);
  }
  if (info.checksum && ChecksumOf(data) != info.checksum) {
    return Fail(info.path, kChanged, kRecordAgain);
  }
  return data;
}

}  // namespace

Registry::Registry(Cache cache, Result<Disassembler> disassembler)
    : cache_(std::move(cache)), disassembler_(std::move(disassembler)) {
  if (disassembler_) disassembler_->CancelBy(&stop_);
}

Registry::~Registry() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_all();
  if (worker_.joinable()) worker_.join();
}

// --- the reader's side
// ------------------------------------------------------------------------------

void Registry::Feed(const trace::Record& record) {
  if (auto* text = std::get_if<trace::Text>(&record.body)) {
    texts_[text->text_id] = text->text;
  } else if (auto* image = std::get_if<trace::Image>(&record.body)) {
    On(*image);
  } else if (auto* bytes = std::get_if<trace::ImageBytes>(&record.body)) {
    On(*bytes);
  } else if (auto* load = std::get_if<trace::ImageLoad>(&record.body)) {
    auto found = images_.find(load->image);
    handles_[load->handle] = found == images_.end() ? nullptr : found->second;
  } else if (auto* context = std::get_if<trace::ContextCreate>(&record.body)) {
    if (context->arch && arch_ == 0) arch_ = static_cast<int>(context->arch);
  } else if (auto* function = std::get_if<trace::Function>(&record.body)) {
    On(*function, record.seq_before);
  }
}

void Registry::On(const trace::Image& record) {
  auto image = std::make_shared<Image>();
  image->info = record;
  images_[record.image] = std::move(image);
}

// Pieces come in order; one that is lost leaves the image incomplete, which its length shows.
void Registry::On(const trace::ImageBytes& record) {
  auto found = images_.find(record.image);
  if (found == images_.end()) return;
  std::string& bytes = found->second->bytes;
  if (record.offset == bytes.size() && bytes.size() < kMaxImage) bytes += record.data;
}

void Registry::On(const trace::Function& record, uint64_t seq) {
  auto entry = std::make_shared<KernelEntry>();
  auto text = texts_.find(record.text_id);
  if (text != texts_.end()) entry->name = text->second;
  entries_[{record.function, seq}] = entry;
  order_.push_back(entry);
  if (trace::IsNcclKernel(entry->name)) {
    entry->reason = kNcclKernel;
    entry->state = KernelEntry::kUnseen;
    return;
  }
  Request request{entry, nullptr, {}, arch_};
  auto loaded = handles_.find(record.module);
  if (loaded != handles_.end()) request.image = loaded->second;
  if (request.image) {
    entry->image = request.image->info.image;
  } else {
    for (const auto& [number, image] : images_) request.others.push_back(image);
  }
  Ask(std::move(request));
}

void Registry::Ask(Request request) {
  request.entry->asked = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  requests_.push_back(std::move(request));
  if (!worker_.joinable()) worker_ = std::thread([this] { Work(); });
  asked_.notify_one();
}

std::shared_ptr<const KernelEntry> Registry::Find(uint64_t function, uint64_t seq) const {
  auto found = entries_.find({function, seq});
  return found == entries_.end() ? nullptr : found->second;
}

bool Registry::Wait(const KernelEntry& entry, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return answered_.wait_for(lock, patience, [&] { return entry.state != KernelEntry::kPending; });
}

std::vector<std::shared_ptr<const KernelEntry>> Registry::Kernels() const { return order_; }

std::vector<std::string> Registry::Notes() {
  std::lock_guard lock(mutex_);
  return notes_;
}

// --- the worker's side
// ------------------------------------------------------------------------------

void Registry::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stop_ || !requests_.empty(); });
    if (stop_) return;
    std::vector<Request> batch;
    batch.swap(requests_);
    lock.unlock();
    RunBatch(batch);
    lock.lock();
  }
}

void Registry::Finish(KernelEntry& entry, KernelEntry::State state) {
  std::lock_guard lock(mutex_);
  entry.state = state;
  answered_.notify_all();
}

void Registry::RunBatch(std::vector<Request>& batch) {
  std::map<const ModuleImage*, std::multimap<std::string, KernelEntry*>> wanted;
  for (Request& request : batch) {
    std::string reason;
    const ModuleImage* module = Locate(request, &reason);
    if (module) {
      wanted[module].emplace(request.entry->name, request.entry.get());
    } else {
      request.entry->reason = reason;
      Finish(*request.entry, KernelEntry::kUnseen);
    }
  }
  std::vector<ModuleRequest> requests;
  std::vector<std::multimap<std::string, KernelEntry*>*> entries;
  for (auto& [module, kernels] : wanted) {
    std::set<std::string> names;
    for (const auto& [name, entry] : kernels) names.insert(name);
    requests.push_back({module, {names.begin(), names.end()}});
    entries.push_back(&kernels);
  }
  Summarise(requests, disassembler_, cache_, [&](size_t index, KernelSummary summary) {
    auto [from, to] = entries[index]->equal_range(summary.name);
    for (auto at = from; at != to; ++at) {
      at->second->summary = summary;
      Finish(*at->second, KernelEntry::kReady);
    }
  });
  for (Request& request : batch) {
    if (request.entry->state != KernelEntry::kPending) continue;
    request.entry->reason = "its image cannot be read";
    Finish(*request.entry, KernelEntry::kUnseen);
  }
}

void Registry::Open(Image& image, int arch) {
  if (image.opened) return;
  image.opened = true;
  const trace::Image& info = image.info;
  std::string place = info.path.empty() ? fmt::format("image {}", info.image)
                                        : fmt::format("{}@byte {}", info.path, info.offset);
  Result<std::string> bytes = std::move(image.bytes);
  if (!info.path.empty()) {
    bytes = ReadPart(info);
  } else if (info.kind == 0 || bytes->empty()) {
    bytes = Fail(place, "of unknown form, not kept");
  } else if (info.bytes && bytes->size() != info.bytes) {
    bytes = Fail(place, "not all of it is in the trace");
  }
  Result<Selection> selected =
      bytes ? SelectModules(*bytes, arch, place) : tl::unexpected(bytes.error());
  if (!selected) {
    image.problem = selected.error().Text();
    return;
  }
  image.modules = std::move(selected->modules);
  image.recompiled = selected->recompiled;
  for (size_t i = 0; i < image.modules.size(); ++i) {
    Result<Cubin> cubin = ReadCubin(image.modules[i].bytes, image.modules[i].place);
    if (!cubin) {
      selected->notes.push_back(cubin.error().Text());
      continue;
    }
    for (const KernelInfo& kernel : cubin->kernels) image.by_kernel[kernel.name].push_back(i);
  }
  if (image.by_kernel.empty() && !selected->notes.empty()) image.problem = selected->notes.front();
  std::lock_guard lock(mutex_);
  notes_.insert(notes_.end(), selected->notes.begin(), selected->notes.end());
}

const ModuleImage* Registry::Locate(const Request& request, std::string* reason) {
  KernelEntry& entry = *request.entry;
  if (request.image) {
    Image& image = *request.image;
    Open(image, request.arch);
    auto found = image.by_kernel.find(entry.name);
    if (found == image.by_kernel.end()) {
      *reason = image.problem.empty() ? "no kernel of this name is in its image" : image.problem;
      return nullptr;
    }
    if (image.recompiled) entry.origin = Origin::kRecompiled;
    return &image.modules[found->second.front()];
  }
  std::vector<std::pair<Image*, size_t>> found;
  for (const auto& other : request.others) {
    Open(*other, request.arch);
    auto at = other->by_kernel.find(entry.name);
    if (at == other->by_kernel.end()) continue;
    for (size_t module : at->second) found.push_back({other.get(), module});
  }
  if (found.size() != 1) {
    *reason = found.empty()
                  ? "its image was not seen"
                  : "its module was not seen, and several images have a kernel of its name";
    return nullptr;
  }
  entry.origin = found[0].first->recompiled ? Origin::kRecompiled : Origin::kByName;
  entry.image = found[0].first->info.image;
  return &found[0].first->modules[found[0].second];
}

}  // namespace ss::kernels
