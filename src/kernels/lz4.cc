#include "src/kernels/lz4.h"

namespace ss::kernels {
namespace {

constexpr uint32_t kLeastMatch = 4;
constexpr uint32_t kMore = 15;  // a length of 15 goes on in the bytes that follow

class Unpacker {
 public:
  Unpacker(std::string_view packed, uint64_t size, std::string* out)
      : in_(packed), size_(size), out_(out) {}

  bool Run() {
    out_->clear();
    out_->reserve(size_);
    while (at_ < in_.size()) {
      uint8_t token = static_cast<uint8_t>(in_[at_++]);
      if (!Literals(token >> 4)) return false;
      if (at_ == in_.size()) break;  // the last sequence has no match
      if (!Match(token & 15)) return false;
    }
    return out_->size() == size_;
  }

 private:
  bool Length(uint64_t* length) {
    if (*length != kMore) return true;
    uint8_t byte = 0;
    do {
      if (at_ >= in_.size()) return false;
      byte = static_cast<uint8_t>(in_[at_++]);
      *length += byte;
    } while (byte == 255);
    return true;
  }

  bool Literals(uint64_t length) {
    if (!Length(&length) || length > in_.size() - at_ || length > size_ - out_->size())
      return false;
    out_->append(in_.substr(at_, length));
    at_ += length;
    return true;
  }

  bool Match(uint64_t length) {
    if (in_.size() - at_ < 2) return false;
    uint64_t distance = uint8_t(in_[at_]) | uint8_t(in_[at_ + 1]) << 8;
    at_ += 2;
    if (!Length(&length)) return false;
    length += kLeastMatch;
    if (!distance || distance > out_->size() || length > size_ - out_->size()) return false;
    // Byte by byte: a match may overlap what it makes.
    for (uint64_t from = out_->size() - distance; length; --length)
      out_->push_back((*out_)[from++]);
    return true;
  }

  std::string_view in_;
  uint64_t size_;
  std::string* out_;
  size_t at_ = 0;
};

}  // namespace

bool UnpackLz4(std::string_view packed, uint64_t size, std::string* out) {
  return Unpacker(packed, size, out).Run();
}

}  // namespace ss::kernels
