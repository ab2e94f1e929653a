#include "src/capture/modules.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "src/capture/session.h"

namespace ss::capture {
namespace {

constexpr uint32_t kMaxModules = 4096;

enum Kind : uint8_t { kOther, kPrivateLibrary, kCudaRuntime };
struct NamePrefix {
  const char* prefix;
  Kind kind;
};
constexpr NamePrefix kKinds[] = {
    {"libcublas", kPrivateLibrary},
    {"libcudnn", kPrivateLibrary},
    {"libnccl", kPrivateLibrary},
    {"libcudart", kCudaRuntime},
};

struct Image {
  uint64_t begin;
  uint64_t end;
  uint64_t path;  // hash: another library may get the very same addresses
  uint64_t file;  // trace::HashOfFile
  Kind kind;
};

// Readers go up to g_count without the lock; entries never change once counted.
Image* g_images;
std::atomic<uint32_t> g_count;
std::atomic<uint64_t> g_loads{~uint64_t{0}};  // dlpi_adds + dlpi_subs at the last scan
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t HashOf(const char* text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *text; ++text) hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001b3;
  return hash;
}

Kind KindOf(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* file = slash ? slash + 1 : path;
  for (const NamePrefix& known : kKinds) {
    if (strncmp(file, known.prefix, strlen(known.prefix)) == 0) return known.kind;
  }
  return kOther;
}

struct Span {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;
  trace::view::Bytes build_id;
};

void ReadNotes(const char* at, const char* end, Span* span) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* name = at + sizeof *note;
    const char* description = name + ((note->n_namesz + 3) & ~3u);
    at = description + ((note->n_descsz + 3) & ~3u);
    if (at > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4) continue;
    if (memcmp(name, "GNU", 4) == 0) span->build_id = {description, note->n_descsz};
  }
}

Span SpanOf(const dl_phdr_info& image) {
  Span span;
  for (int i = 0; i < image.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = image.dlpi_phdr[i];
    uint64_t begin = image.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      if (begin < span.begin) span.begin = begin;
      if (begin + part.p_memsz > span.end) span.end = begin + part.p_memsz;
    } else if (part.p_type == PT_NOTE) {
      auto* notes = reinterpret_cast<const char*>(begin);
      ReadNotes(notes, notes + part.p_filesz, &span);
    }
  }
  return span;
}

const Image* Find(uint64_t address) {
  // Newest first: a library that was loaded where another had been hides it.
  for (uint32_t i = g_count.load(std::memory_order_acquire); i-- > 0;) {
    if (address >= g_images[i].begin && address < g_images[i].end) return &g_images[i];
  }
  return nullptr;
}

bool Known(const Span& span, uint64_t path) {
  const Image* image = Find(span.begin);
  return image && image->begin == span.begin && image->end == span.end && image->path == path;
}

int NoteImage(dl_phdr_info* image, size_t, void* opaque) {
  auto& thread = *static_cast<Thread*>(opaque);
  char own[4096];
  const char* path = image->dlpi_name;
  g_loads.store(image->dlpi_adds + image->dlpi_subs, std::memory_order_relaxed);
  if (!path || !*path) {  // the program itself
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size > 0 ? size : 0] = 0;
    path = own;
  }
  Span span = SpanOf(*image);
  uint64_t hash = HashOf(path);
  uint32_t count = g_count.load(std::memory_order_relaxed);
  if (span.begin >= span.end || count == kMaxModules || Known(span, hash)) return 0;
  g_images[count] = {span.begin, span.end, hash, trace::HashOfFile(path), KindOf(path)};
  g_count.store(count + 1, std::memory_order_release);
  Note(thread, trace::view::Module{.base = image->dlpi_addr,
                                   .begin = span.begin,
                                   .end = span.end,
                                   .path = trace::view::Bytes(path),
                                   .build_id = span.build_id});
  return 0;
}

int ReadLoads(dl_phdr_info* image, size_t, void* loads) {
  *static_cast<uint64_t*>(loads) = image->dlpi_adds + image->dlpi_subs;
  return 1;
}

Kind KindOfCode(const void* code) {
  const Image* image = Find(reinterpret_cast<uint64_t>(code));
  return image ? image->kind : kOther;
}

}  // namespace

void NoteModules(Thread& thread) {
  if (!g_images) return;
  pthread_mutex_lock(&g_lock);
  dl_iterate_phdr(NoteImage, &thread);
  pthread_mutex_unlock(&g_lock);
}

void NoteModulesFor(Thread& thread, const uint64_t* addresses, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (Find(addresses[i])) continue;
    uint64_t loads = 0;
    dl_iterate_phdr(ReadLoads, &loads);
    if (loads != g_loads.load(std::memory_order_relaxed)) NoteModules(thread);
    return;
  }
}

bool IsPrivateLibrary(const void* code) { return KindOfCode(code) == kPrivateLibrary; }
bool IsCudaRuntime(const void* code) { return KindOfCode(code) == kCudaRuntime; }

void AddPlace(uint64_t address, trace::PlaceHash* place) {
  const Image* image = Find(address);
  place->Add(image ? image->file : 0, image ? address - image->begin : 0);
}

bool InitModules() {
  void* memory = mmap(nullptr, sizeof(Image) * kMaxModules, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  g_images = static_cast<Image*>(memory);
  return true;
}

void ResetModules() {
  g_count.store(0);
  g_loads.store(~uint64_t{0});
  g_lock = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace ss::capture
