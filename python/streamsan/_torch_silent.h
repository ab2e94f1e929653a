// Operators in which nothing can happen that a report would name: views, and those that are made of
// other operators. PyTorch's own part of a callback costs more than all that is done there, and
// they are most of the operators of a training step.
//
// at::_ops::NAME::call, through which every one of PyTorch's own operators is called, asks
// getStepCallbacksUnlessEmpty whether anybody listens. Its question is answered here: not to us, if
// the caller is such an operator. Whoever else listens (a profiler) hears all of them, and so do we
// then. What backward operators are called by is kept here all the same.
#ifndef STREAMSAN_TORCH_SILENT_H_
#define STREAMSAN_TORCH_SILENT_H_

#include <ATen/SequenceNumber.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "_torch_got.h"
#include "_torch_operators.h"

namespace {

// From the return address into at::_ops::NAME::call to the operator; null where it is to be heard.
class Callers {
 public:
  const Operator* Silent(const void* caller) {
    size_t at = IndexOf(caller);
    for (size_t i = 0; i < kProbes; ++i, at = (at + 1) % kCallers) {
      const void* known = entries_[at].caller.load(std::memory_order_acquire);
      if (known == caller) return entries_[at].op;
      if (!known) break;
    }
    return Learn(caller);
  }

 private:
  static constexpr size_t kCallers = 1 << 13;
  static constexpr size_t kProbes = 16;
  struct Entry {
    std::atomic<const void*> caller{nullptr};
    const Operator* op = nullptr;  // does not change once there is a caller
  };

  static size_t IndexOf(const void* caller) {
    return reinterpret_cast<uintptr_t>(caller) * 0x9e3779b97f4a7c15 >> 51;
  }
  static_assert(kCallers == size_t{1} << (64 - 51));

  // What finds no room among the entries is looked up here each time.
  const Operator* Learn(const void* caller) {
    std::lock_guard<std::mutex> guard(lock_);
    auto [known, fresh] = known_.try_emplace(caller, nullptr);
    if (!fresh) return known->second;
    known->second = OperatorAt(caller);
    size_t at = IndexOf(caller);
    for (size_t i = 0; i < kProbes; ++i, at = (at + 1) % kCallers) {
      if (entries_[at].caller.load(std::memory_order_relaxed)) continue;
      entries_[at].op = known->second;
      entries_[at].caller.store(caller, std::memory_order_release);
      break;
    }
    return known->second;
  }

  // "_ZN2at4_ops10add_Tensor4call..." -> "add_Tensor"; "" for any other function.
  static std::string StructOf(const void* caller) {
    constexpr char kStart[] = "_ZN2at4_ops";
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_sname) return "";
    const char* symbol = info.dli_sname;
    if (strncmp(symbol, kStart, sizeof kStart - 1) != 0) return "";
    char* name = nullptr;
    size_t length = strtoul(symbol + sizeof kStart - 1, &name, 10);
    if (length == 0 || strlen(name) <= length) return "";
    return strncmp(name + length, "4callE", 6) ? "" : std::string(name, length);
  }

  const Operator* OperatorAt(const void* caller) {
    std::string name = StructOf(caller);
    if (name.empty()) return nullptr;
    if (names_.empty()) ReadNames();
    auto at = names_.find(name);
    if (at == names_.end()) return nullptr;
    std::optional<c10::OperatorHandle> op = c10::Dispatcher::singleton().findSchema(at->second);
    return op && IsSilent(*op) ? g_operators_seen.Find(op->schema()) : nullptr;
  }

  // As PyTorch calls the structs: at::_ops::add_Tensor is aten::add.Tensor. No name that could be
  // two operators' is kept.
  void ReadNames() {
    constexpr char kPytorch[] = "aten::";
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (!name.name.starts_with(kPytorch)) continue;
      std::string key = name.name.substr(sizeof kPytorch - 1);
      if (!name.overload_name.empty()) key += '_' + name.overload_name;
      auto [at, fresh] = names_.try_emplace(key, name);
      if (!fresh) at->second = c10::OperatorName("", "");
    }
  }

  static bool IsSilent(const c10::OperatorHandle& op) {
    if (KindOf(op.operator_name().name) != kPlain) return false;
    Signature signature = SignatureOf(op.schema());
    if (signature.aliases && !signature.writes) return true;
    return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
           !op.hasKernelForDispatchKey(c10::DispatchKey::CUDA) &&
           !op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
  }

  Entry entries_[kCallers];
  std::mutex lock_;
  std::unordered_map<const void*, const Operator*> known_;
  std::unordered_map<std::string, c10::OperatorName> names_;
};

Callers& g_callers = *new Callers;

// As PyTorch numbers an operator that callbacks are called for.
bool MayMakeNode() {
  return c10::GradMode::is_enabled() &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

void RememberSilent(const Operator* op, uint64_t thread_id) {
  auto sequence = static_cast<int64_t>(at::sequence_number::peek());
  if (IsRemembered(thread_id, sequence)) return;
  ThreadState& thread = This();
  if (thread.depth >= kMaxDepth) return;
  streamsan_context now = *thread.slot;
  Frame frame;
  frame.op = op;
  EnterOperator(frame, thread.depth ? &thread.frames[thread.depth - 1] : nullptr, &now);
  Remember(thread_id, sequence, now);
}

using StepCallbacks = std::optional<at::StepCallbacks>;

[[gnu::noinline]] StepCallbacks CallbacksOfSilent(const Operator* op, at::RecordScope scope) {
  StepCallbacks callbacks = at::getStepCallbacksUnlessEmpty(scope);
  bool ours =
      callbacks && callbacks->callbacks_.size() == 1 && callbacks->callbacks_[0].start_ == OnBegin;
  if (!ours || streamsan_torch_forked) return callbacks;
  if (MayMakeNode()) RememberSilent(op, callbacks->thread_id_);
  callbacks.reset();
  return callbacks;
}

StepCallbacks CallbacksHere(at::RecordScope scope) {
  if (scope == at::RecordScope::FUNCTION) {
    const Operator* op = g_callers.Silent(__builtin_return_address(0));
    if (op) return CallbacksOfSilent(op, scope);
  }
  return at::getStepCallbacksUnlessEmpty(scope);
}

// Where that is not possible, everything is heard, which only costs.
void SilenceOperators() {
  constexpr char kSymbol[] = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE";
  auto* asked = reinterpret_cast<const void*>(&at::getStepCallbacksUnlessEmpty);
  LeadImport(asked, kSymbol, reinterpret_cast<void*>(&CallbacksHere));
}

}  // namespace
#endif  // STREAMSAN_TORCH_SILENT_H_
