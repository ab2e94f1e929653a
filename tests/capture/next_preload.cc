// An allocator hook of the common kind: finds the next malloc by dlsym(RTLD_NEXT). If somebody
// between us and glibc became the caller, NEXT would be this very function, for ever.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace {
void* (*g_next)(size_t);
unsigned g_calls;
__thread unsigned t_depth;
}  // namespace

extern "C" __attribute__((visibility("default"))) void* malloc(size_t bytes) {
  if (++t_depth > 4) {
    static const char kMessage[] = "next_preload: malloc found itself\n";
    if (write(STDERR_FILENO, kMessage, sizeof kMessage - 1)) _exit(88);
    _exit(88);
  }
  if (!g_next) g_next = reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, "malloc"));
  ++g_calls;
  void* block = g_next(bytes);
  --t_depth;
  return block;
}

__attribute__((destructor)) static void Report() {
  fprintf(stderr, "next_preload_used %d\n", g_calls > 0);
}
