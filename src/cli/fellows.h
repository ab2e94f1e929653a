// The processes that `mpirun streamsan check` starts side by side: each analyses its share of the
// inputs, the first one puts them together and prints. Without mpirun, or in a build without MPI,
// a process is alone.
#pragma once

#include <memory>
#include <vector>

#include "src/cli/analysed.h"

namespace ss {

class Fellows {
 public:
  Fellows();
  ~Fellows();
  Fellows(const Fellows&) = delete;
  Fellows& operator=(const Fellows&) = delete;

  Share share() const { return share_; }
  bool First() const { return share_.number == 0; }
  // On the first one everybody's parts in the order of the inputs, elsewhere nothing.
  std::vector<Part> Gather(std::vector<Part> parts);
  // Everybody ends with the first one's exit code: call once, last.
  int End(int code);

 private:
  struct Mpi;
  std::unique_ptr<Mpi> mpi_;
  Share share_;
};

}  // namespace ss
