/* Between the parts of the PyTorch helper, and what Python calls in it (_torch.py). */
#ifndef STREAMSAN_TORCH_HELPER_H_
#define STREAMSAN_TORCH_HELPER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct streamsan_torch_counts {
  uint64_t allocations;
  uint64_t frees;
  uint64_t recordings;        /* record_stream calls */
  uint64_t unseen_recordings; /* frees that waited for streams which nobody was seen recording */
  uint64_t fills;             /* deterministic fills */
  uint64_t out_of_memory;
  uint64_t host_allocations;    /* of pinned memory */
  uint64_t unknown_host_blocks; /* pinned blocks whose free cannot be seen */
  uint64_t host_accesses;       /* of CPU operators, in pinned memory */
} streamsan_torch_counts;

/* Call once CUDA is initialised: 0 attached, 1 nothing to attach to (cudaMallocAsync), -1 with a
 * message. */
int streamsan_torch_attach_allocator(char* message, size_t size);
/* Before anything is allocated: "hold" or "poison". 0, or -1 for another word. */
int streamsan_torch_experiment(const char* name);
void streamsan_torch_attach_operators(void);
/* Takes the operators' callback out, or puts it in again. */
void streamsan_torch_pause(int on);
/* 0 attached, -1 this PyTorch has none that is known. */
int streamsan_torch_attach_host_allocator(void);
/* The CPU reads [base, base + bytes) now; nothing where that is no pinned memory of PyTorch's. */
void streamsan_torch_host_read(uint64_t base, uint64_t bytes);

/* The nn.Module at that address is there; is a child of that parent, by that name; is gone. */
void streamsan_torch_add_module(const void* module, const char* type);
void streamsan_torch_set_parent(const void* module, const void* parent, const char* name);
void streamsan_torch_forget_module(const void* module);
/* `unknown` is called by Python's main thread, with the GIL, soon after a module was seen running
 * that nobody has told of. */
void streamsan_torch_on_unknown_module(void (*unknown)(void));
uint64_t streamsan_torch_module_text(const void* module); /* 0 = it has no name */
void streamsan_torch_read_counts(streamsan_torch_counts* counts);

/* Text ids, 0 = none or not known. */
typedef struct streamsan_torch_place {
  uint64_t site;   /* the program's innermost Python line */
  uint64_t module; /* the innermost nn.Module that is called */
} streamsan_torch_place;

/* _torch_frames.c, of this thread. Needs no GIL: a thread that is inside C code does not change its
 * own frames. */
streamsan_torch_place streamsan_torch_python_place(void);
/* Which call Python is at, by its innermost frame: another number, another call. 0 = not known. */
uint64_t streamsan_torch_python_call(void);
/* Whether Python is still at that call, or in what it calls. */
int streamsan_torch_python_is_in(uint64_t call);
int streamsan_torch_has_python_frames(void);

/* 0 where no call stacks are wanted: then Python has no place either. */
extern int streamsan_torch_places;
/* 1 in a forked child: it cannot use CUDA, and the numbers of texts are its parent's. */
extern int streamsan_torch_forked;

#ifdef __cplusplus
}
#endif
#endif
