// Opened images (executables, shared libraries) and what libdw says of addresses in them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/report/symbols.h"

namespace ss {

class Image;

class ImageCache {
 public:
  ImageCache();
  ~ImageCache();

  // `address` is relative to the image's load bias. The frame always has module and offset.
  const Frame& Lookup(const std::string& path, const std::string& build_id, uint64_t address);

 private:
  Image& Open(const std::string& path, const std::string& build_id);

  std::unordered_map<std::string, std::unique_ptr<Image>> images_;
};

}  // namespace ss
