// What libstreamsan_mpi.so offers: all that `streamsan check` needs of MPI.
#pragma once

#include <cstdint>

extern "C" {
// Whose number and how many; false: MPI cannot be initialised.
using StreamsanMpiStart = bool(int* rank, int* count);
// In process 0, `take` gets everybody's bytes one after the other, its own first.
using StreamsanMpiTake = void(void* context, const char* bytes, uint64_t size);
using StreamsanMpiGather = void(const char* bytes, uint64_t size, StreamsanMpiTake* take,
                                void* context);
// Everybody gets the code of process 0.
using StreamsanMpiEnd = int(int code);
}
