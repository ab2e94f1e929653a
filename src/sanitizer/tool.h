// The library inside a program under `streamsan pipeline watch`: patches its kernels, drains their
// log into a file, and notices when they have stopped moving. It judges nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/sanitizer/api.h"
#include "src/sanitizer/device_log.h"
#include "src/sanitizer/log_file.h"

namespace ss::sanitizer {

// What the command line asks of it, through the environment.
struct ToolOptions {
  std::string folder;     // of the log files
  std::string library;    // libsanitizer-public.so
  uint64_t log_mb = 64;   // a context
  uint32_t launches = 8;  // watched of each kernel
  uint32_t blocks = 32;   // watched of each launch
  uint64_t hang_ms = 10'000;
};
ToolOptions OptionsFromEnvironment();

class Tool {
 public:
  explicit Tool(ToolOptions options) : options_(std::move(options)) {}
  bool Start(std::string& problem);

  void OnModule(const Sanitizer_ResourceModuleData& data);
  void OnContextEnd(CUcontext context);
  void OnLaunch(const Sanitizer_LaunchData& data);
  void OnGraphLaunch() { ++graphs_; }
  void Finish();

 private:
  struct Context {
    bool patched = false;
    DeviceLog* device_log = nullptr;
    LaunchSlot* slots = nullptr;
    pipeline::LogRecord* records = nullptr;
    pipeline::StuckWarp* stuck = nullptr;
    unsigned long long* lost = nullptr;
    uint64_t capacity = 0;
    uint64_t drained = 0;
    std::vector<pipeline::StuckWarp> last_stuck;
    bool ended = false;
  };

  bool Try(SanitizerResult result, const char* what);
  bool Prepare(Context& context, CUcontext handle, Sanitizer_StreamHandle stream);
  bool Upload(Context& context, Sanitizer_StreamHandle stream);
  void KeepModule(uint64_t module);

  void Watch();                  // the draining thread
  bool Drain(Context& context);  // true: something was new
  void DrainBehindGaps(Context& context);
  std::vector<pipeline::StuckWarp> Stuck(const Context& context) const;
  bool StuckStayed(Context& context);
  void End(pipeline::LogEnd how, uint64_t quiet_ms);

  const ToolOptions options_;
  Api api_;
  LogFile file_;
  std::mutex mutex_;
  Sanitizer_SubscriberHandle subscriber_ = nullptr;
  std::map<CUcontext, Context> contexts_;
  std::map<CUfunction, uint32_t> launches_of_;
  struct Module {
    std::vector<char> cubin;
    bool written = false;
  };
  std::map<CUmodule, Module> modules_;
  uint64_t kept_bytes_ = 0;
  uint64_t launches_ = 0;
  uint32_t watched_ = 0, unwatched_ = 0;
  std::atomic<uint64_t> graphs_{0};
  uint64_t records_ = 0;
  std::set<std::string> complaints_;
  bool ended_ = false;
};

}  // namespace ss::sanitizer
