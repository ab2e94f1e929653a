// Plain data to bytes and back, between processes of this program of one build: no versions, the
// machine's own byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ss {

// Visit(archive, object) gives all members of a struct to archive.All(...).
class Packer {
 public:
  template <typename... T>
  void All(T&... values) {
    (One(values), ...);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  template <typename T>
  void One(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      Visit(*this, value);
    }
  }
  void One(std::string& text) {
    uint64_t size = text.size();
    One(size);
    bytes_ += text;
  }
  template <typename T>
  void One(std::vector<T>& list) {
    uint64_t size = list.size();
    One(size);
    for (T& item : list) One(item);
  }

  std::string bytes_;
};

class Unpacker {
 public:
  Unpacker(const char* bytes, size_t size) : at_(bytes), left_(size) {}

  template <typename... T>
  void All(T&... values) {
    (One(values), ...);
  }
  // False: the bytes are not what a Packer wrote.
  bool whole() const { return !cut_ && left_ == 0; }

 private:
  const char* Advance(size_t size) {
    cut_ = cut_ || size > left_;
    if (cut_) return nullptr;
    left_ -= size;
    return std::exchange(at_, at_ + size);
  }
  template <typename T>
  void One(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (const char* bytes = Advance(sizeof value)) std::memcpy(&value, bytes, sizeof value);
    } else {
      Visit(*this, value);
    }
  }
  void One(std::string& text) {
    uint64_t size = 0;
    One(size);
    if (const char* bytes = Advance(size)) text.assign(bytes, size);
  }
  template <typename T>
  void One(std::vector<T>& list) {
    uint64_t size = 0;
    One(size);
    list.clear();
    while (size-- != 0 && !cut_) {
      list.emplace_back();
      One(list.back());
    }
  }

  const char* at_;
  size_t left_;
  bool cut_ = false;
};

}  // namespace ss
