// Call stacks: from recorded return addresses to function, file and line, after the fact.
//
// Symbolising is done here, in the process that reports, because it takes locks, memory and file
// handles that the watched program must not pay for. libdw reads the images from disk; nothing is
// fetched from a network. An image that is gone, has no debug information, or is no longer the one
// that ran (another build id) gives module + offset and no guess.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/program/op.h"

namespace ss {

// One frame as reports show it. Empty strings and zero mean "unknown".
struct Frame {
  std::string fn;
  std::string file;
  uint32_t line = 0;
  std::string module;   // path of the image
  uint64_t offset = 0;  // return address relative to the image's load bias
};

// An image as one process had it mapped.
struct ModuleMap {
  uint64_t bias = 0;
  uint64_t begin = 0, end = 0;
  std::string path;
  std::string build_id;  // raw bytes, "" = not recorded
};

class ImageCache;  // opened images by path, each symbolised address once

// Stacks of any number of processes. AddProcess starts a new address space; modules and stacks
// added after it belong to it.
class Symboliser {
 public:
  Symboliser();
  ~Symboliser();
  Symboliser(const Symboliser&) = delete;
  Symboliser& operator=(const Symboliser&) = delete;

  void AddProcess() { spaces_.emplace_back(); }
  void AddModule(ModuleMap module);
  // `addresses` are return addresses, innermost first.
  void AddStack(StackId stack, std::vector<uint64_t> addresses);
  // With frames that are known already in front of them: an interpreter's.
  void AddStack(StackId stack, std::vector<Frame> front, std::vector<uint64_t> addresses);

  // Innermost first; empty for 0 and for a stack that was never added.
  const std::vector<Frame>& Frames(StackId stack);

 private:
  using Space = std::map<uint64_t, ModuleMap>;  // by first address
  struct Raw {
    size_t space = 0;
    std::vector<uint64_t> addresses;
    std::vector<Frame> front;
  };

  void Resolve(const Space& space, uint64_t address, std::vector<Frame>& frames);

  std::vector<Space> spaces_;
  std::unordered_map<StackId, Raw> raw_;
  std::unordered_map<StackId, std::vector<Frame>> resolved_;
  std::unique_ptr<ImageCache> images_;
};

// The frame that a one-line report names: the innermost one outside the driver, the CUDA runtime,
// NCCL and this tool, one with a source line if there is any (a statically linked runtime has
// none). Frames that also occur in one of `others` are passed over where possible: a wrapper that
// every launch goes through tells the reader nothing. Null for an empty stack.
const Frame* SiteOf(const std::vector<Frame>& frames,
                    const std::vector<const std::vector<Frame>*>& others = {});

// False for the driver, the CUDA runtime, this tool, and the C library's start of a process.
bool IsProgramFrame(const Frame& frame);

// "moe.cc:211", else "app+0x4010", else "".
std::string ShortText(const Frame& frame);

}  // namespace ss
