// NVIDIA's nvdisasm as a process. It is theirs: found on the machine, never shipped. A process
// costs half a second before its first instruction, so many kernels go through one.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/sass.h"

namespace ss::kernels {

class Disassembler {
 public:
  // STREAMSAN_NVDISASM, then PATH, CUDA_HOME/bin, /usr/local/cuda/bin, and the Python packages that
  // carry it (Triton's, NVIDIA's) below the directories of PYTHONPATH and of the python3 in PATH.
  static Result<Disassembler> Find();

  explicit Disassembler(std::string program, int timeout_s = 300)
      : program_(std::move(program)), timeout_s_(timeout_s) {}

  const std::string& program() const { return program_; }
  // Ends whatever runs, with an error, once `cancel` is true. It has to outlive the disassembler.
  void CancelBy(const std::atomic<bool>* cancel) { cancel_ = cancel; }

  // A cubin with its relocations, names and labels. `symbols`: only these functions; empty: all.
  Result<std::string> Elf(std::string_view image, const std::vector<uint32_t>& symbols) const;
  // All functions, with the lines of source they came from where the cubin says so.
  Result<std::string> Listing(std::string_view image) const { return Run({"-c", "-gi"}, image); }
  // Bare machine code of one architecture, which needs neither names nor a valid ELF file around
  // it.
  Result<std::string> Raw(int arch, std::string_view code) const;

 private:
  Result<std::string> Run(const std::vector<std::string>& options, std::string_view input) const;

  std::string program_;
  int timeout_s_;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace ss::kernels
