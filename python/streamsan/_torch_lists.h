// Operators that take lists of tensors: their kernels on the device are led through here, so that
// only they have their arguments wrapped.
#ifndef STREAMSAN_TORCH_LISTS_H_
#define STREAMSAN_TORCH_LISTS_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "_torch_arguments.h"
#include "_torch_tensors.h"

namespace {

// Ends what was told of an operator's tensors, also where the operator throws.
class Telling {
 public:
  Telling(c10::ArrayRef<const c10::IValue> arguments, const Signature& signature)
      : told_(TellTensors(arguments, signature)) {}
  ~Telling() {
    if (told_) TellNoTensors();
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

 private:
  bool told_;
};

template <class Kernel>
class ListKernel final : public c10::OperatorKernel {
 public:
  ListKernel(Kernel kernel, Signature signature)
      : kernel_(std::move(kernel)), signature_(std::move(signature)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, c10::Stack* stack) {
    if (streamsan_torch_forked) return kernel_.callBoxed(op, keys, stack);
    size_t count = std::min(signature_.modes.size(), stack->size());
    c10::ArrayRef<const c10::IValue> arguments(stack->data() + (stack->size() - count), count);
    Telling telling(arguments, signature_);
    kernel_.callBoxed(op, keys, stack);
  }

 private:
  Kernel kernel_;
  Signature signature_;
};

// Kernels for every backend (CompositeExplicitAutograd) queue nothing themselves in PyTorch's own
// operators, which call others there; in other libraries' they may.
bool HasOwnKernel(const c10::OperatorHandle& op, c10::DispatchKey key) {
  if (op.hasKernelForDispatchKey(key)) return true;
  const std::string& name = op.operator_name().name;
  if (name.starts_with("aten::") || name.starts_with("prims::")) return false;
  return key == c10::DispatchKey::CUDA &&
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

template <class Handle>
void LeadKernel(c10::Dispatcher& dispatcher, const Handle& op, c10::DispatchKey key,
                const Signature& signature) {
  using Kernel = std::decay_t<decltype(op.getComputedKernelForDispatchKey(key))>;
  auto functor =
      std::make_unique<ListKernel<Kernel>>(op.getComputedKernelForDispatchKey(key), signature);
  auto* kept = new c10::RegistrationHandleRAII(dispatcher.registerImpl(
      op.operator_name(), key, c10::KernelFunction::makeFromBoxedFunctor(std::move(functor)),
      std::nullopt, nullptr, "StreamSan"));
  (void)kept;  // for ever
}

// PyTorch says so, once in a process, when a kernel takes another's place.
class Quiet final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

// `Handle` only so that an older PyTorch, which does not give its kernels out, compiles.
template <class Handle>
constexpr bool GivesKernels = requires(const Handle& op, c10::DispatchKey key) {
  op.getComputedKernelForDispatchKey(key);
};

// Defined by this thread, and not led yet.
thread_local std::vector<c10::OperatorName>* t_defined = nullptr;

// The dispatcher owns it.
class Definitions final : public c10::OpRegistrationListener {
 public:
  explicit Definitions(const bool& heed) : heed_(heed) {}
  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    if (!heed_) return;
    if (!t_defined) t_defined = new std::vector<c10::OperatorName>;
    t_defined->push_back(op.operator_name());
  }
  void onOperatorDeregistered(const c10::OperatorHandle&) override {}

 private:
  const bool& heed_;
};

class Lists {
 public:
  void Attach() {
    if (!GivesKernels<c10::OperatorHandle>) return g_arguments.WantAlways();
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) Lead(name);
    // Tells of all that are there, too.
    (void)new c10::RegistrationHandleRAII(
        dispatcher.addRegistrationListener(std::make_unique<Definitions>(attached_)));
    attached_ = true;
  }

  // An operator that is defined has no kernel yet: it is led when the thread begins its next one.
  void LeadNew() {
    if (!t_defined) [[likely]]
      return;
    std::unique_ptr<std::vector<c10::OperatorName>> names(std::exchange(t_defined, nullptr));
    for (const c10::OperatorName& name : *names) Lead(name);
  }

  // Whether an operator's tensors are to be told where it begins: its kernel came too late. Other
  // threads may be in it, so that it cannot be led any more.
  bool ToldAtBegin(const c10::OperatorName& name) {
    if (!GivesKernels<c10::OperatorHandle>) return true;
    {
      std::lock_guard<std::mutex> guard(lock_);
      if (led_.contains(NameOf(name))) return false;
    }
    std::optional<c10::OperatorHandle> op = c10::Dispatcher::singleton().findSchema(name);
    bool late = op && std::any_of(std::begin(kKeys), std::end(kKeys),
                                  [&](c10::DispatchKey key) { return HasOwnKernel(*op, key); });
    if (late) g_arguments.WantAlways();
    return late;
  }

 private:
  static constexpr c10::DispatchKey kKeys[] = {c10::DispatchKey::CUDA,
                                               c10::DispatchKey::NestedTensorCUDA};

  static std::string NameOf(const c10::OperatorName& name) {
    return name.name + '.' + name.overload_name;
  }

  template <class Handle = c10::OperatorHandle>
  void Lead(const c10::OperatorName& name) {
    if constexpr (GivesKernels<Handle>) {
      c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
      std::optional<Handle> op = dispatcher.findSchema(name);
      Signature signature = op ? SignatureOf(op->schema()) : Signature();
      if (!signature.takes_list) return;
      Quiet quiet;
      c10::WarningUtils::WarningHandlerGuard guard(&quiet);
      for (c10::DispatchKey key : kKeys) {
        if (!HasOwnKernel(*op, key)) continue;
        LeadKernel(dispatcher, *op, key, signature);
        std::lock_guard<std::mutex> locked(lock_);
        led_.insert(NameOf(name));
      }
    }
  }

  std::mutex lock_;
  std::unordered_set<std::string> led_;
  bool attached_ = false;
};

Lists& g_lists = *new Lists;

}  // namespace
#endif  // STREAMSAN_TORCH_LISTS_H_
