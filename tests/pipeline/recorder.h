// What `streamsan pipeline watch` would record of a protocol: runs its text as the hardware does,
// in a random order, and writes the log of it. Roles, pairs and stages are left for the analysis to
// find.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/pipeline/log.h"
#include "src/pipeline/steps.h"

namespace ss::pipeline {

// Writes a recording by hand, too.
class LogWriter {
 public:
  LogWriter();
  void Launch(uint32_t number, const std::string& kernel, uint32_t blocks, uint32_t warps,
              uint32_t cluster = 1);
  LogRecord& Add(uint32_t block, uint32_t warp, RecordKind kind, uint32_t barrier,
                 uint32_t data = 0, uint64_t pc = 0, bool passed = false);
  void Stuck(uint32_t block, uint32_t warp, uint32_t barrier, uint32_t parity, uint64_t pc = 0);
  std::string End(LogEnd how = LogEnd::kExit);
  std::string CutShort();  // without an end

  std::vector<LogRecord> records;
  std::vector<StuckWarp> stuck;

 private:
  void Chunk(ChunkKind kind, const void* data, size_t bytes);
  std::string bytes_;
  uint32_t launch_ = 0;
};

constexpr uint64_t kKernelPc = 0x7f00'0000'1000;

struct RecordedRun {
  std::string log;
  bool stuck = false;
  std::map<std::string, std::string> roles;  // of the protocol -> as the analysis names them
  std::map<uint32_t, std::string> pipe_of;   // barrier offset -> pipeline or mbarrier
};

struct RecorderOptions {
  uint64_t seed = 1;
  uint32_t blocks = 2;
  bool init_barrier = true;  // the block's barrier behind the initialisation
  // Pipelines and mbarriers on whose full side arrivals are cp.async's: logged when they are
  // issued, without the object.
  std::set<std::string> later = {};
  std::set<std::string> hidden = {};  // on whose full side arrivals are not logged
  std::set<std::string> early = {};   // roles whose first wait stands before that barrier
  bool before_init = false;           // and even before the initialisation
  bool unread = false;                // no mbarrier object could be read
  bool parities = false;              // of each, the parity alone could be
  bool late_looks =
      false;  // a look that failed sleeps until the barrier has gone on, and is read then
};

// At most 32 agents.
RecordedRun RecordRun(const Program& program, const RecorderOptions& options);

}  // namespace ss::pipeline
