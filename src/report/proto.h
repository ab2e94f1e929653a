// The few pieces of the protobuf wire format that a Perfetto trace needs. A library would bring a
// compiler for .proto files into the build for eight messages that have not changed in years.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ss {

class ProtoMessage {
 public:
  void Number(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3);
    Varint(value);
  }
  void Fixed64(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  void Text(uint32_t field, std::string_view text) {
    Varint(uint64_t{field} << 3 | 2);
    Varint(text.size());
    bytes_ += text;
  }
  void Message(uint32_t field, const ProtoMessage& message) { Text(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace ss
