#include "src/sanitizer/api.h"

#include <dlfcn.h>

namespace ss::sanitizer {

bool LoadApi(Api& api, const char* library, std::string& problem) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    problem = dlerror();
    return false;
  }
#define X(name)                                                          \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(handle, #name)); \
  if (!api.name) {                                                       \
    problem = std::string(library) + " has no " #name;                   \
    return false;                                                        \
  }
  SS_SANITIZER_API(X)
#undef X
  return true;
}

}  // namespace ss::sanitizer
