// Whether PyTorch shows operators' arguments to the callbacks: it wraps every one of them for that,
// at every operator, which costs more than all else that is done there. They are asked for only
// while something is there to be found in them.
#ifndef STREAMSAN_TORCH_ARGUMENTS_H_
#define STREAMSAN_TORCH_ARGUMENTS_H_

#include <ATen/record_function.h>

#include <memory>
#include <mutex>

namespace {

// A callback of its own that does nothing: one that asks for arguments has them shown to all.
class Arguments {
 public:
  void Attach() {
    std::lock_guard<std::mutex> guard(lock_);
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(Nothing).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    shown_ = true;
    Apply();
  }

  // Operators are there that take lists of tensors and do not pass _torch_lists.h.
  void WantAlways() { Set(&always_, true); }
  // The CPU's operators may use pinned memory.
  void WantForPinned() { Set(&pinned_, true); }
  template <class Any>
  void LetGoOfPinned(Any any) {
    std::lock_guard<std::mutex> guard(lock_);
    pinned_ = any();  // another thread may just have made some
    if (handle_ != 0) Apply();
  }
  void Pause(bool on) { Set(&paused_, on); }

 private:
  static std::unique_ptr<at::ObserverContext> Nothing(const at::RecordFunction&) { return nullptr; }

  void Set(bool* reason, bool value) {
    std::lock_guard<std::mutex> guard(lock_);
    *reason = value;
    if (handle_ != 0) Apply();
  }

  void Apply() {
    bool show = !paused_ && (always_ || pinned_);
    if (show == shown_) return;
    shown_ = show;
    show ? at::reenableCallback(handle_) : at::disableCallback(handle_);
  }

  std::mutex lock_;
  at::CallbackHandle handle_ = 0;
  bool shown_ = false, always_ = false, pinned_ = false, paused_ = false;
};

Arguments& g_arguments = *new Arguments;

}  // namespace
#endif  // STREAMSAN_TORCH_ARGUMENTS_H_
