// Which definition of an NCCL function is behind ours, and what lookups by name are told.
#include <link.h>
#include <string.h>

#include <atomic>

#include "src/capture/counts.h"
#include "src/capture/elf_lookup.h"
#include "src/capture/nccl.h"

extern "C" {
#define NCCL(name) [[gnu::visibility("hidden")]] void ss_nccl_##name();
#include "src/capture/nccl.def"
#undef NCCL
}

// Where libnccl lies, for stubs.S too; 0 bytes = nobody knows of one yet.
extern "C" {
[[gnu::visibility("hidden")]] std::atomic<uintptr_t> ss_nccl_begin;
[[gnu::visibility("hidden")]] std::atomic<uintptr_t> ss_nccl_bytes;
}

namespace ss::capture {

const char* const kNcclNames[kNcclRows] = {
#define NCCL(name) "nccl" #name,
#include "src/capture/nccl.def"
#undef NCCL
};

namespace {

constexpr char kLibrary[] = "libnccl";

void* const kOurs[kNcclRows] = {
#define NCCL(name) reinterpret_cast<void*>(&ss_nccl_##name),
#include "src/capture/nccl.def"
#undef NCCL
};

std::atomic<void*> g_real[kNcclRows];

void SetReal(int row, void* function) {
  void* none = nullptr;
  if (g_real[row].compare_exchange_strong(none, function, std::memory_order_acq_rel)) {
    LearnNccl(function);
  }
}

}  // namespace

// An NCCL that is linked into another library is no range of its own: that library's kernels are
// the program's.
void LearnNccl(const void* code) {
  if (ss_nccl_bytes.load(std::memory_order_relaxed)) return;
  ImageSpan span = SpanOfImage(code, kLibrary);
  ss_nccl_begin.store(span.begin, std::memory_order_relaxed);
  ss_nccl_bytes.store(span.end - span.begin, std::memory_order_release);
}

bool IsInterceptedNccl(const void* code) {
  const ImageSpan span = SpanOfImage(code, "");
  for (const std::atomic<void*>& real : g_real) {
    const auto address = reinterpret_cast<uintptr_t>(real.load(std::memory_order_acquire));
    if (address >= span.begin && address < span.end) return true;
  }
  return false;
}

int FindNccl(const char* symbol) {
  if (strncmp(symbol, "nccl", strlen("nccl")) != 0) return kNoNcclRow;
  for (int row = 0; row < kNcclRows; ++row) {
    if (strcmp(kNcclNames[row], symbol) == 0) return row;
  }
  return kNoNcclRow;
}

namespace {

std::atomic<uint64_t> g_loads;  // dlpi_adds at the last count
std::atomic<bool> g_several;

bool SeveralNccls() {
  uint64_t loads = 0;
  auto read = [](dl_phdr_info* image, size_t, void* to) {
    *static_cast<uint64_t*>(to) = image->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(read, &loads);
  if (g_loads.load(std::memory_order_acquire) != loads) {
    g_several.store(CountElsewhere(kOurs[0], kNcclNames[kNccl_GroupStart]) > 1);
    g_loads.store(loads, std::memory_order_release);
  }
  return g_several.load(std::memory_order_relaxed);
}

// A definition that was not there may come with a library that is loaded later: asked again.
void* Next(int row) {
  void* function = g_real[row].load(std::memory_order_acquire);
  if (function) return function;
  function = FindBehind(kOurs[row], kNcclNames[row]);
  if (function) SetReal(row, function);
  return function;
}

}  // namespace

void* NcclReal(int row, const void* caller) {
  void* own = SeveralNccls() ? FindInImageOf(caller, kNcclNames[row]) : nullptr;
  return own ? own : Next(row);
}

// A second NCCL in the process would be called through the first one's functions: it stays unseen.
void* RedirectNccl(int row, void* found) {
  if (found == nullptr) return nullptr;
  if (found == kOurs[row]) return NcclAbsent(row) ? nullptr : found;
  SetReal(row, found);
  if (g_real[row].load(std::memory_order_acquire) == found) return kOurs[row];
  CountGap(Gap::kNcclSecond);
  return found;
}

bool NcclAbsent(int row) { return FindElsewhere(kOurs[row], kNcclNames[row]) == nullptr; }

bool InNccl(const void* code) {
  uintptr_t bytes = ss_nccl_bytes.load(std::memory_order_relaxed);
  return bytes &&
         reinterpret_cast<uintptr_t>(code) - ss_nccl_begin.load(std::memory_order_relaxed) < bytes;
}

}  // namespace ss::capture
