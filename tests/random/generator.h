// Random GPU host programs as litmus text, so that one that fails can be shrunk and kept as a file.
//
// A program draws a profile (streams, devices, host threads, mode, kinds of memory, how often
// idioms rather than single calls) and then statements by weight. Nothing here knows ordering: what
// is racy and what is not is for the checkers to say (repair.h makes clean programs out of racy
// ones).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/rng.h"

namespace ss::random {

struct Size {
  int least = 20, most = 200;  // statements
};

class Generator {
 public:
  Generator(uint64_t seed, Size size) : rng_(seed), size_(size) {}
  std::vector<std::string> Lines();

 private:
  struct Stream {
    std::string name, type;
    int device = 0;
    bool live = true;
    std::string context;  // a green one's name
  };
  struct Context {
    std::string name;
    bool green = false;
    int device = 0;
  };
  struct Buffer {
    std::string name, kind;  // caching, pool, device, pinned, pageable, managed, view
    std::string shows;       // view: the buffer
    int size = 0;            // in units of 4K
    size_t owner = 0;        // caching and pool: stream
    int device = 0;
    bool freed = false, taken = false;
  };
  // Addresses that are mapped from the front on, for kernels or for blocks.
  struct Range {
    std::string name;
    bool segment = false;
    int mapped = 0;                              // in units of 4K
    std::vector<int> pieces;                     // the sizes of what is mapped
    size_t buffer = 0;                           // of kernels' accesses
    std::vector<std::pair<size_t, int>> blocks;  // and where each begins
  };
  struct Profile {
    int order = 0, host = 0, lifetime = 0, copies = 0, idioms = 0;  // weights
    int programmatic = 0;                                           // percent of the kernels
    int graphs = 0;                                                 // weight
    int ranges = 0;                                                 // weight
    int flags = 0;                                                  // weight
    int rows = 0;      // percent of the accesses: with gaps
    int contexts = 0;  // weight
    int strays = 0;    // percent: accesses that ignore who owns or freed what
  };
  using Action = void (Generator::*)();
  struct Choice {
    int weight;
    Action action;
  };

  // generator.cc
  void Declare();
  void DeclareStreams();
  std::string StreamType();
  std::vector<Choice> Choices() const;
  void Kernel();
  void Atomic();
  std::string Accesses(int most);
  void DestroyAndRedeclare();
  // generator_order.cc
  void RecordWait();
  void WaitStream();
  void Record();
  void Wait();
  void Synchronise();
  void Query();
  void HandOff();
  void HostAccess();
  void HostFunction();
  // generator_memory.cc
  void Alloc();
  void AllocCaching();
  void AllocPlain(const std::string& kind, int size = 0);  // 0 = any
  void AllocAsync();
  void Free();
  void FreeAt(size_t buffer);
  void Reuse();
  void RecordStream();
  void Fill();
  void View();
  void Copy();
  std::string CopyWords();
  void Memset();
  // generator_virtual.cc
  void Map();
  void Unmap();
  void AllocAt();
  Range& AnyRange(bool segment);
  // generator_idioms.cc
  void ProducerConsumer();
  void TemporaryOnOtherStream();
  void Staging();
  void ReadBack();
  void PoolTemporary();
  void Watchdog();
  void LegacyBarrier();
  void Signal();
  void Await();
  void SignalAwait();
  std::string Flag();
  // generator_context.cc
  void DeclareContexts();
  std::string Declaration(const Stream& stream) const;
  void ContextRecord();
  void ContextWait();
  void WaitForContext();
  void ContextSync();
  void ContextBarrier();
  // generator_graph.cc
  void CaptureGraph();
  void CapturedWork(size_t stream);
  void LaunchGraph();

  void Emit(const std::string& statement) { lines_.push_back(statement); }
  std::string AnyHost();  // "@HOST ", or nothing for the main thread
  void EmitAnyHost(const std::string& statement);
  void EmitOn(size_t stream, const std::string& operation);
  void EmitTogether(size_t stream, const std::vector<std::string>& operations);  // by one thread
  std::string NewName(const char* prefix) { return prefix + std::to_string(++names_); }
  size_t AnyStream();
  const Stream* Legacy() const;
  size_t OtherStream(size_t than);
  // Indices of buffers whose kind is in `kinds`, by words; live ones unless the program strays.
  std::vector<size_t> Live(const std::string& kinds);
  size_t Hot(const std::vector<size_t>& buffers);
  std::string Ranged(size_t buffer, int percent);
  // `count` rows of `row` KiB of it, with gaps if they fit; empty if not even they do.
  std::string Rows(size_t buffer, int row, int count);
  std::string Event();

  Rng rng_;
  Size size_;
  Profile profile_;
  std::vector<std::string> lines_;
  std::vector<Stream> streams_;
  std::vector<std::string> hosts_;  // beside main
  std::vector<Buffer> buffers_;
  std::vector<std::string> events_;
  std::vector<std::string> graphs_;
  std::vector<Range> ranges_;
  std::vector<Context> contexts_;
  int devices_ = 1;
  int names_ = 0;
};

}  // namespace ss::random
