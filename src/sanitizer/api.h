// The functions of the Sanitizer API, looked up in a library that is found at run time: StreamSan
// neither ships it nor needs it to start.
#pragma once

#include <sanitizer.h>

#include <string>

namespace ss::sanitizer {

#define SS_SANITIZER_API(X)           \
  X(sanitizerSubscribe)               \
  X(sanitizerEnableDomain)            \
  X(sanitizerAddPatches)              \
  X(sanitizerPatchInstructions)       \
  X(sanitizerPatchModule)             \
  X(sanitizerAlloc)                   \
  X(sanitizerAllocHost)               \
  X(sanitizerMemset)                  \
  X(sanitizerMemcpyHostToDeviceAsync) \
  X(sanitizerStreamSynchronize)       \
  X(sanitizerSetLaunchCallbackData)   \
  X(sanitizerGetFunctionPcAndSize)    \
  X(sanitizerGetResultString)

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  SS_SANITIZER_API(X)
#undef X
};

// False: `problem` says what is missing.
bool LoadApi(Api& api, const char* library, std::string& problem);

}  // namespace ss::sanitizer
