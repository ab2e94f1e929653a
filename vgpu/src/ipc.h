// Memory and events that several processes use. What is behind a handle is a memfd of the process
// that gave it away, which others open through /proc: it is gone when that process is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "api.h"

namespace ss::vgpu {

// An event's state in shared memory. Records are numbered from 1 by whoever makes them.
class SharedEvent {
 public:
  static std::shared_ptr<SharedEvent> Make();
  static std::shared_ptr<SharedEvent> Open(int process, int file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  uint64_t Issue() { return state_->issued.fetch_add(1) + 1; }
  void Complete(uint64_t record) { state_->done[record % kRecords].store(record); }
  uint64_t Last() const { return state_->issued.load(); }  // 0 = never recorded
  bool Done(uint64_t record) const { return state_->done[record % kRecords].load() >= record; }
  int file() const { return file_; }

 private:
  // Of so many records at once it is known which are done.
  static constexpr uint64_t kRecords = 511;
  struct State {
    std::atomic<uint64_t> issued;
    std::atomic<uint64_t> done[kRecords];
  };

  SharedEvent(int file, State* state) : file_(file), state_(state) {}
  static std::shared_ptr<SharedEvent> Map(int file);

  int file_;
  State* state_;
};

// The file of a memfd of another process, opened; -1 if it is gone.
int OpenFileOf(int process, int file);

// Shareable handles of memory and of pools are descriptors of their own, as the driver's are: other
// processes get them over a socket or by fork, and the memory lives as long as anybody has it.
int MakeFile(const char* what, int device);
CUresult ExportFile(int file, void* shareable);  // writes a descriptor there
struct ImportedFile {
  int file = -1;
  uint64_t bytes = 0;
  int device = 0;
};
ImportedFile ImportFile(const char* what, void* shareable);

// A record of the event, and a wait for its most recent one, as operations.
NewOp RecordOf(Event& event);
NewOp WaitFor(const Event& event);
// Whether the most recent record is another process's, and then whether it is done.
bool RecordedElsewhere(const Event& event);
bool DoneElsewhere(const Event& event);
CUresult SynchronizeElsewhere(Call& call, const Event& event);

}  // namespace ss::vgpu
