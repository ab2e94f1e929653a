// Knows nothing of CUDA. Prints whether lookups behave as they do without a preload.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main() {
  void* block = malloc(100);
  printf("malloc %d\n", block != nullptr);
  printf("own_malloc %d\n", dlsym(RTLD_NEXT, "malloc") != nullptr);
  printf("driver_by_default %d\n", dlsym(RTLD_DEFAULT, "cuInit") != nullptr);
  printf("unknown %d\n", dlsym(RTLD_DEFAULT, "no_such_function") != nullptr);
  const char* error = dlerror();
  printf("error_names_it %d\n", error && strstr(error, "no_such_function") != nullptr);
  void* libc = dlopen("libc.so.6", RTLD_NOW);
  printf("versioned %d\n", dlvsym(libc, "printf", "GLIBC_2.2.5") != nullptr);
  printf("driver_in_libc %d\n", dlsym(libc, "cuInit") != nullptr);
  free(block);
  return 0;
}
