#include "src/cli/mpi/gather.h"

#include <algorithm>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

constexpr int kTag = 1;
constexpr uint64_t kPiece = uint64_t{1} << 30;  // counts are ints

void Send(const char* bytes, uint64_t size) {
  MPI_Send(&size, 1, MPI_UINT64_T, 0, kTag, MPI_COMM_WORLD);
  for (uint64_t at = 0; at < size; at += kPiece) {
    const int piece = static_cast<int>(std::min(kPiece, size - at));
    MPI_Send(bytes + at, piece, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  }
}

std::vector<char> Receive(int from) {
  uint64_t size = 0;
  MPI_Recv(&size, 1, MPI_UINT64_T, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<char> bytes(size);
  for (uint64_t at = 0; at < size; at += kPiece) {
    const int piece = static_cast<int>(std::min(kPiece, size - at));
    MPI_Recv(bytes.data() + at, piece, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return bytes;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT bool streamsan_mpi_start(int* rank, int* count) {
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return false;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, count);
  return true;
}

EXPORT void streamsan_mpi_gather(const char* bytes, uint64_t size, StreamsanMpiTake* take,
                                 void* context) {
  int rank = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  if (rank != 0) return Send(bytes, size);
  take(context, bytes, size);
  for (int from = 1; from < count; ++from) {
    const std::vector<char> theirs = Receive(from);
    take(context, theirs.data(), theirs.size());
  }
}

EXPORT int streamsan_mpi_end(int code) {
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return code;
}
