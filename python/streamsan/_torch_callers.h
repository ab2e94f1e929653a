// From the return address into at::_ops::NAME::call, through which every one of PyTorch's own
// operators is called, to the operator.
#ifndef STREAMSAN_TORCH_CALLERS_H_
#define STREAMSAN_TORCH_CALLERS_H_

#include <dlfcn.h>
#include <stdlib.h>
#include <unwind.h>

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "_torch_operators.h"

namespace {

// Where the function at `caller` has its own return address, seen from a function that it calls:
// the distance from that one's frame address. Told by the unwinder, once a caller: its frame has
// one size.
class ReturnSlot {
 public:
  // `inner` is the frame address of the function that `caller` called. 0 = cannot be told.
  static ptrdiff_t Find(const void* caller, const void* inner) {
#ifdef __x86_64__
    ReturnSlot search(caller);
    _Unwind_Backtrace(Step, &search);
    if (!search.slot_ || *search.slot_ != search.returns_) return 0;
    return reinterpret_cast<const char*>(search.slot_) - static_cast<const char*>(inner);
#else
    (void)caller, (void)inner;  // the return address is kept in a register first
    return 0;
#endif
  }

 private:
  explicit ReturnSlot(const void* caller) : caller_(caller) {}

  // A step's "CFA" is the stack pointer in that function: the end of the frame of the one it
  // called.
  static _Unwind_Reason_Code Step(_Unwind_Context* step, void* opaque) {
    auto& search = *static_cast<ReturnSlot*>(opaque);
    auto* at = reinterpret_cast<const void*>(_Unwind_GetIP(step));
    if (search.found_) {
      search.slot_ = reinterpret_cast<const void* const*>(_Unwind_GetCFA(step)) - 1;
      search.returns_ = at;
      return _URC_NORMAL_STOP;
    }
    search.found_ = at == search.caller_;
    return _URC_NO_REASON;
  }

  const void* caller_;
  bool found_ = false;
  const void* const* slot_ = nullptr;
  const void* returns_ = nullptr;
};

struct Caller {
  enum Kind : uint8_t { kHeard, kUnheard, kSilent, kIgnored };
  const Operator* op = nullptr;  // of those that are not heard
  Kind kind = kHeard;
  ptrdiff_t slot = 0;  // ReturnSlot
};

class Callers {
 public:
  // `inner` is the frame address of the function that `address` returns from.
  const Caller& Find(const void* address, const void* inner) {
    size_t at = IndexOf(address);
    for (size_t i = 0; i < kProbes; ++i, at = (at + 1) % kCallers) {
      const void* known = entries_[at].address.load(std::memory_order_acquire);
      if (known == address) return entries_[at].caller;
      if (!known) break;
    }
    return Learn(address, inner);
  }

 private:
  static constexpr size_t kCallers = 1 << 13;
  static constexpr size_t kProbes = 16;
  struct Entry {
    std::atomic<const void*> address{nullptr};
    Caller caller;  // does not change once there is an address
  };

  static size_t IndexOf(const void* address) {
    return reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15 >> 51;
  }
  static_assert(kCallers == size_t{1} << (64 - 51));

  // What finds no room among the entries is looked up here each time.
  const Caller& Learn(const void* address, const void* inner) {
    std::lock_guard<std::mutex> guard(lock_);
    auto [known, fresh] = known_.try_emplace(address);
    if (!fresh) return known->second;
    known->second = CallerAt(address, inner);
    size_t at = IndexOf(address);
    for (size_t i = 0; i < kProbes; ++i, at = (at + 1) % kCallers) {
      if (entries_[at].address.load(std::memory_order_relaxed)) continue;
      entries_[at].caller = known->second;
      entries_[at].address.store(address, std::memory_order_release);
      break;
    }
    return known->second;
  }

  // "_ZN2at4_ops10add_Tensor4call..." -> "add_Tensor"; "" for any other function.
  static std::string StructOf(const char* symbol) {
    constexpr char kStart[] = "_ZN2at4_ops";
    if (strncmp(symbol, kStart, sizeof kStart - 1) != 0) return "";
    char* name = nullptr;
    size_t length = strtoul(symbol + sizeof kStart - 1, &name, 10);
    if (length == 0 || strlen(name) <= length) return "";
    return strncmp(name + length, "4callE", 6) ? "" : std::string(name, length);
  }

  Caller CallerAt(const void* address, const void* inner) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_sname) return {};
    // Around each node: what it is called is asked for where it counts.
    if (strstr(info.dli_sname, "8autograd6Engine")) return {nullptr, Caller::kIgnored, 0};
    std::string name = StructOf(info.dli_sname);
    if (name.empty()) return {};
    if (names_.empty()) ReadNames();
    auto at = names_.find(name);
    if (at == names_.end()) return {};
    std::optional<c10::OperatorHandle> op = c10::Dispatcher::singleton().findSchema(at->second);
    if (!op) return {};
    const Operator* known = g_operators_seen.Find(op->schema());
    if (IsSilent(*op)) return {known, Caller::kSilent, 0};
    ptrdiff_t slot = ReturnSlot::Find(address, inner);
    return slot ? Caller{known, Caller::kUnheard, slot} : Caller();
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

  // Views, and what is made of other operators.
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
  std::unordered_map<const void*, Caller> known_;
  std::unordered_map<std::string, c10::OperatorName> names_;
};

Callers& g_callers = *new Callers;

}  // namespace
#endif  // STREAMSAN_TORCH_CALLERS_H_
