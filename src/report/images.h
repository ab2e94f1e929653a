// Opened images (executables, shared libraries) and what libdw says of addresses in them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/report/symbols.h"

namespace ss {

class Image;

class ImageCache {
 public:
  ImageCache();
  ~ImageCache();

  // `address` is relative to the image's load bias. One frame, and one more for each function that
  // the compiler inlined there, innermost first. Every frame has module and offset.
  const std::vector<Frame>& Lookup(const std::string& path, const std::string& build_id,
                                   uint64_t address);

 private:
  Image& Open(const std::string& path, const std::string& build_id);

  std::unordered_map<std::string, std::unique_ptr<Image>> images_;
};

}  // namespace ss
