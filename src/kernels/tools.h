// NVIDIA's programs on this machine, and the files that they are given.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace ss::kernels {

// The file that the environment's `variable` names, else the program `name` in PATH, CUDA_HOME/bin,
// /usr/local/cuda/bin, and in the Python packages that carry it (Triton's, NVIDIA's) below the
// directories of PYTHONPATH and of the python3 in PATH. `package`: the Python package to recommend.
Result<std::string> FindTool(const std::string& name, const std::string& variable,
                             const std::string& package);

// Goes away with the object. One that is only read has no name in any directory from when it is
// written: nothing of it is left where this process is killed.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  // One of the two, once.
  Result<void> Write(std::string_view bytes);
  Result<void> Create();  // empty, for another program to write
  // For programs that this process starts.
  const std::string& path() const { return path_; }

 private:
  int fd_ = -1;
  bool named_ = false;
  std::string path_;
};

}  // namespace ss::kernels
