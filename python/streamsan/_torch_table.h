// Leads single entries of an object's table of virtual functions through other functions.
#ifndef STREAMSAN_TORCH_TABLE_H_
#define STREAMSAN_TORCH_TABLE_H_

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include <utility>
#include <vector>

namespace {

// Itanium C++ ABI, "Member Function Pointers": of a virtual function, 1 + its offset in the table.
template <class Member>
ptrdiff_t SlotOf(Member member) {
  ptrdiff_t words[2];
  static_assert(sizeof member == sizeof words, "not the Itanium ABI");
  memcpy(words, &member, sizeof words);
  return words[0] & 1 ? (words[0] - 1) / static_cast<ptrdiff_t>(sizeof(void*)) : -1;
}

bool IsCode(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) != 0 && info.dli_fname;
}

constexpr ptrdiff_t kHeader = 2;  // offset to top, type information
constexpr ptrdiff_t kLongest = 256;

// As long as the entries are addresses in some library's image.
ptrdiff_t LengthOf(void** table) {
  ptrdiff_t length = 0;
  while (length < kLongest && IsCode(table[length])) ++length;
  return length;
}

class Redirection {
 public:
  explicit Redirection(void* object) : object_(static_cast<void***>(object)) {
    void** table = *object_;
    length_ = LengthOf(table);
    copy_.assign(table - kHeader, table + length_);
  }

  template <class Member, class Function>
  bool Set(Member member, Function here, Function* original) {
    ptrdiff_t slot = SlotOf(member);
    if (slot < 0 || slot >= length_) return false;
    *original = reinterpret_cast<Function>(copy_[kHeader + slot]);
    copy_[kHeader + slot] = reinterpret_cast<void*>(here);
    return true;
  }

  void Install() {
    auto* table = new std::vector<void*>(std::move(copy_));  // for ever
    __atomic_store_n(object_, table->data() + kHeader, __ATOMIC_RELEASE);
  }

 private:
  void*** object_;
  ptrdiff_t length_;
  std::vector<void*> copy_;
};

}  // namespace
#endif  // STREAMSAN_TORCH_TABLE_H_
