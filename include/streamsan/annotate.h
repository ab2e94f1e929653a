/* annotate.h: what a program may tell StreamSan that the driver's interface cannot show.
 *
 * Header-only and free of dependencies: every call finds the tool's table once and does nothing
 * where the tool is absent (cost then: one load and one branch). Pointers are addresses as the
 * program uses them, sizes are bytes, streams are CUstream / cudaStream_t values (0 = legacy
 * default stream). No call takes ownership, fails, blocks or throws. Threads: any.
 */
#ifndef STREAMSAN_ANNOTATE_H_
#define STREAMSAN_ANNOTATE_H_

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum streamsan_mode {
  STREAMSAN_READ = 1,
  STREAMSAN_WRITE = 2,
  STREAMSAN_READ_WRITE = 3,
  STREAMSAN_ATOMIC = 4
} streamsan_mode;

/* What a thread is doing, in a framework's terms: text ids (streamsan_text), 0 = nothing to say.
 * The capture library reads the calling thread's own at every call; the framework's plug-in writes
 * it, plainly. */
typedef struct streamsan_context {
  uint64_t operator_text; /* "aten::mm" */
  uint64_t forward_text;  /* of a backward operator: the forward one */
  uint64_t module_text;   /* "layers.3.mlp" */
  uint64_t site_text;     /* "FUNCTION\nFILE\nLINE" */
} streamsan_context;

/* The table that the capture library exports as `streamsan_annotate_table_v1`. Only ever grows at
 * its end; `size` is the size in bytes of the table that the tool has. */
typedef struct streamsan_table {
  uint32_t size;
  uint32_t version; /* 1 */
  void (*buffer)(const void* base, size_t bytes, const char* name);
  void (*kernel_access)(const void* function, uint32_t parameter_offset, uint32_t mode);
  void (*access)(const void* stream, const void* base, size_t bytes, uint32_t mode);
  void (*host_access)(const void* base, size_t bytes, uint32_t mode);
  void (*release)(const void* tag);
  void (*acquire)(const void* tag);
  void (*pool_alloc)(const void* pool, const void* base, size_t bytes, const void* stream);
  void (*pool_free)(const void* pool, const void* base);
  void (*pool_record_use)(const void* pool, const void* base, const void* stream);
  void (*fill)(const void* stream, const void* base, size_t bytes);
  void (*device_flag)(const void* base, size_t bytes);
  void (*stream_name)(const void* stream, const char* name);
  void (*thread_name)(const char* name);
  void (*pool_enter)(const void* pool);
  void (*pool_leave)(const void* pool);
  uint64_t (*text)(const char* text);
  streamsan_context* (*thread_context)(void);
  void (*plug_in)(uint32_t gap, const char* text);
  uint32_t (*mark)(uint64_t token);
  void (*host_pool_alloc)(const void* pool, const void* base, size_t bytes);
  void (*pause)(uint32_t on);
  void (*operator_tensors)(const uint64_t* triples, uint32_t count, uint32_t complete);
  void (*watch_context)(void (*refresh)(streamsan_context* context));
  uint32_t (*wants_stacks)(void);
} streamsan_table;

static inline const streamsan_table* streamsan_find(void) {
  static const streamsan_table* table;
  static int looked;
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&table,
                     (const streamsan_table*)dlsym(RTLD_DEFAULT, "streamsan_annotate_table_v1"),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&table, __ATOMIC_RELAXED);
}

#define STREAMSAN_CALL_(member, ...)                                                               \
  do {                                                                                             \
    const streamsan_table* t_ = streamsan_find();                                                  \
    if (t_ && t_->size > offsetof(streamsan_table, member) && t_->member) t_->member(__VA_ARGS__); \
  } while (0)

/* Gives [base, base + bytes) a name in reports. */
static inline void streamsan_buffer(const void* base, size_t bytes, const char* name) {
  STREAMSAN_CALL_(buffer, base, bytes, name);
}
/* Kernel `function` (CUfunction or CUkernel) uses the pointer at byte `parameter_offset` of its
 * parameters: from the pointer to the end of its block, in `mode`. Holds for every launch; once is
 * enough. */
static inline void streamsan_kernel_access(const void* function, uint32_t parameter_offset,
                                           streamsan_mode mode) {
  STREAMSAN_CALL_(kernel_access, function, parameter_offset, (uint32_t)mode);
}
/* The next operation that this thread queues on `stream` touches exactly [base, base + bytes). May
 * be repeated; replaces what is otherwise known of that operation. */
static inline void streamsan_access(const void* stream, const void* base, size_t bytes,
                                    streamsan_mode mode) {
  STREAMSAN_CALL_(access, stream, base, bytes, (uint32_t)mode);
}
/* The CPU touches [base, base + bytes) now, in this thread (inside a host function: in stream
 * order). */
static inline void streamsan_host_access(const void* base, size_t bytes, streamsan_mode mode) {
  STREAMSAN_CALL_(host_access, base, bytes, (uint32_t)mode);
}
/* Host happens-before: what precedes release(tag) in its thread is known after a later
 * acquire(tag). */
static inline void streamsan_release(const void* tag) { STREAMSAN_CALL_(release, tag); }
static inline void streamsan_acquire(const void* tag) { STREAMSAN_CALL_(acquire, tag); }
/* A custom caching allocator: `pool` is any value that names it; the block belongs to `stream`. */
static inline void streamsan_pool_alloc(const void* pool, const void* base, size_t bytes,
                                        const void* stream) {
  STREAMSAN_CALL_(pool_alloc, pool, base, bytes, stream);
}
/* The same for a caching allocator of pinned memory: its blocks belong to no stream. Freed, one may
 * be handed out at once to whatever thread asks, but for the streams of pool_record_use. */
static inline void streamsan_host_pool_alloc(const void* pool, const void* base, size_t bytes) {
  STREAMSAN_CALL_(host_pool_alloc, pool, base, bytes);
}
/* The last reference is dropped: the block may be handed out again at once to its owner stream. */
static inline void streamsan_pool_free(const void* pool, const void* base) {
  STREAMSAN_CALL_(pool_free, pool, base);
}
/* The allocator was told that `stream` uses the block: reuse waits for its work queued at the free.
 */
static inline void streamsan_pool_record_use(const void* pool, const void* base,
                                             const void* stream) {
  STREAMSAN_CALL_(pool_record_use, pool, base, stream);
}
/* Between the two this thread runs the allocator's own code: an event that it queries there tells
 * it about its own deferred blocks and orders nothing else. */
static inline void streamsan_pool_enter(const void* pool) { STREAMSAN_CALL_(pool_enter, pool); }
static inline void streamsan_pool_leave(const void* pool) { STREAMSAN_CALL_(pool_leave, pool); }
/* The next operation that this thread queues on `stream` is the allocator's own initialising write.
 */
static inline void streamsan_fill(const void* stream, const void* base, size_t bytes) {
  STREAMSAN_CALL_(fill, stream, base, bytes);
}
/* Device code synchronises through [base, base + bytes) (polling, signal pads): findings on such
 * pairs are at most `possible`. */
static inline void streamsan_device_flag(const void* base, size_t bytes) {
  STREAMSAN_CALL_(device_flag, base, bytes);
}
static inline void streamsan_stream_name(const void* stream, const char* name) {
  STREAMSAN_CALL_(stream_name, stream, name);
}
static inline void streamsan_thread_name(const char* name) { STREAMSAN_CALL_(thread_name, name); }

/* Number of a text, for streamsan_context; 0 where the tool is absent. A forked child has to ask
 * anew. */
static inline uint64_t streamsan_text(const char* text) {
  const streamsan_table* t = streamsan_find();
  return t && t->size > offsetof(streamsan_table, text) && t->text ? t->text(text) : 0;
}
/* The calling thread's own, valid while the thread lives; NULL where the tool is absent. */
static inline streamsan_context* streamsan_thread_context(void) {
  const streamsan_table* t = streamsan_find();
  return t && t->size > offsetof(streamsan_table, thread_context) && t->thread_context
             ? t->thread_context()
             : NULL; /* NOLINT(modernize-use-nullptr): this is C, too */
}

/* `refresh` is called with the thread's own context before a call is recorded, in any thread, so
 * that what changes more often than calls are made need not be kept up to date. It may ask for
 * texts (streamsan_text), nothing else. One a process: the last one counts. */
static inline void streamsan_watch_context(void (*refresh)(streamsan_context* context)) {
  STREAMSAN_CALL_(watch_context, refresh);
}

/* Whether call stacks are recorded, for a plug-in that has lines of its own to tell (site_text). */
static inline int streamsan_wants_stacks(void) {
  const streamsan_table* t = streamsan_find();
  return t && t->size > offsetof(streamsan_table, wants_stacks) && t->wants_stacks
             ? (int)t->wants_stacks()
             : 1;
}

/* A framework's plug-in says what it sees (gap = 0), or what it cannot see: then the report's
 * coverage is incomplete, and says so in these words. */
static inline void streamsan_plug_in(int gap, const char* text) {
  STREAMSAN_CALL_(plug_in, (uint32_t)(gap != 0), text);
}

/* The memory of the operator that this thread is in, as its schema says: `count` triples (address,
 * bytes, mode), mode bits 1 read, 2 written, 8 or neither, 16 not every byte of the range. What the
 * machine code of the kernels launched from here on leaves open is taken from it; `complete` = they
 * touch nothing else. Adds to what was told before; none = the operator is over. */
static inline void streamsan_operator_tensors(const uint64_t* triples, uint32_t count,
                                              int complete) {
  STREAMSAN_CALL_(operator_tensors, triples, count, (uint32_t)(complete != 0));
}

/* Records nothing of this process from here on, or again with 0: what the program does meanwhile is
 * unknown, and the report's coverage is incomplete. For measuring what recording costs. */
static inline void streamsan_pause(int on) { STREAMSAN_CALL_(pause, (uint32_t)(on != 0)); }

/* Asks `streamsan run` what it has found up to here; it answers in the file
 * STREAMSAN_ANSWERS/<token in hexadecimal>.json once it is there. Orders nothing. 0: nothing was
 * recorded of this process, so there is nothing to ask about and no answer will come. */
static inline int streamsan_mark(uint64_t token) {
  const streamsan_table* t = streamsan_find();
  return t && t->size > offsetof(streamsan_table, mark) && t->mark ? (int)t->mark(token) : 0;
}

#ifdef __cplusplus
}
#endif
#endif /* STREAMSAN_ANNOTATE_H_ */
