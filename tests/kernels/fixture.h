// Committed machine code: SET_smARCH.cubin.zst as nvcc wrote it and SET_smARCH.sass.zst as nvdisasm
// printed it, from SET.cu by regenerate.sh. So no test needs nvcc, nvdisasm or a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/kernels/analyse.h"

namespace ss::kernels {

struct Fixture {
  std::string name;
  std::string image;
  std::shared_ptr<const std::string> text;
  Cubin cubin;
  Code code;
};

std::string FixturePath(const std::string& file);
std::string ReadTestFile(const std::string& path);  // "" when it cannot be read
std::string Unpack(const std::string& compressed);

// Aborts with a message when the fixture is missing or damaged.
std::unique_ptr<Fixture> LoadFixture(const std::string& set, int arch);

}  // namespace ss::kernels
