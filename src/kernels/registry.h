// The machine code of one watched process: which image each kernel comes from, and its summary.
//
// Records are read on the caller's thread, as early as they arrive and in order; unpacking,
// compiling, disassembling and analysing go on in a thread of the registry's own. What is asked for
// while that thread works waits and then goes in one batch, since a process of the disassembler
// costs half a second before its first instruction.
//
// A kernel whose handle leads to no image is looked for by name in all images of the process (the
// runtime may have loaded it through its private tables), and that is said.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/cache.h"
#include "src/kernels/disassembler.h"
#include "src/kernels/modules.h"
#include "src/kernels/summary.h"
#include "src/trace/record.h"

namespace ss::kernels {

// Where a kernel's code was found.
enum class Origin : uint8_t {
  kImage,       // in the image that its module was loaded from
  kRecompiled,  // there, as PTX: what ptxas made of it here
  kByName,  // its module was not seen: the only kernel of this name in the images of the process
};

// One definition of a function handle. Everything but `state` may be read once it is not kPending.
struct KernelEntry {
  enum State : uint8_t { kPending, kReady, kUnseen };

  std::string name;
  uint64_t image = 0;
  std::atomic<State> state{kPending};
  Origin origin = Origin::kImage;
  KernelSummary summary;  // kReady; its `unresolved` says what it may lack
  std::string reason;     // kUnseen: why there is no machine code to look at
  std::chrono::steady_clock::time_point asked;
};

class Registry {
 public:
  Registry(Cache cache, Result<Disassembler> disassembler);
  ~Registry();  // does not wait for what is still pending
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Images, handles, functions and contexts; other records are ignored.
  void Feed(const trace::Record& record);

  // What the Function record with this number said of the handle. Null: there was none.
  std::shared_ptr<const KernelEntry> Find(uint64_t function, uint64_t seq) const;
  // Waits until it is not pending. False: `patience` is over.
  bool Wait(const KernelEntry& entry, std::chrono::milliseconds patience);

  // Every kernel so far, in order of first launch.
  std::vector<std::shared_ptr<const KernelEntry>> Kernels() const;
  // About images, once each: damaged ones, entries that cannot be read.
  std::vector<std::string> Notes();

 private:
  struct Image {
    trace::Image info;
    std::string bytes;  // as far as ImageBytes came
    // The worker's own from here on.
    bool opened = false;
    bool recompiled = false;
    std::string problem;
    std::vector<ModuleImage> modules;
    std::map<std::string, std::vector<size_t>, std::less<>> by_kernel;  // indexes into `modules`
  };
  struct Request {
    std::shared_ptr<KernelEntry> entry;
    std::shared_ptr<Image> image;                // null: by name
    std::vector<std::shared_ptr<Image>> others;  // then in one of these
    int arch = 0;
  };
  struct Key {
    uint64_t function = 0, seq = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return (key.function ^ key.seq * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 8;
    }
  };

  void On(const trace::Image& record);
  void On(const trace::ImageBytes& record);
  void On(const trace::Function& record, uint64_t seq);
  void Ask(Request request);

  void Work();
  void RunBatch(std::vector<Request>& batch);
  void Open(Image& image, int arch);
  // Where the kernel's code is: a module, or null with the reason.
  const ModuleImage* Locate(const Request& request, std::string* reason);
  void Finish(KernelEntry& entry, KernelEntry::State state);

  // The reader's.
  std::unordered_map<uint64_t, std::shared_ptr<Image>> images_;   // by number
  std::unordered_map<uint64_t, std::shared_ptr<Image>> handles_;  // by CUmodule or CUlibrary
  std::unordered_map<uint64_t, std::string> texts_;
  std::unordered_map<Key, std::shared_ptr<KernelEntry>, Hash> entries_;
  std::vector<std::shared_ptr<const KernelEntry>> order_;
  int arch_ = 0;

  // The worker's.
  Cache cache_;
  Result<Disassembler> disassembler_;

  std::mutex mutex_;  // of what follows
  std::condition_variable asked_, answered_;
  std::vector<Request> requests_;
  std::vector<std::string> notes_;
  std::atomic<bool> stop_ = false;
  std::thread worker_;  // started with the first request
};

}  // namespace ss::kernels
