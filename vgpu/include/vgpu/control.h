/* control.h: what a test may ask of the virtual GPU beyond the driver's interface.
 *
 * Header-only; each call finds the driver at run time and does nothing (returns 0) where the
 * process runs on a real one.
 */
#ifndef VGPU_CONTROL_H_
#define VGPU_CONTROL_H_

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 1 = the driver of this process is the virtual GPU. */
static inline int vgpu_present(void) { return dlsym(RTLD_DEFAULT, "vgpu_reset") != NULL; }

/* Forgets every context, stream, event, module and allocation, zeroes device memory, and starts
 * again with `policy` (eager, lazy, random, pct; NULL keeps it) and `seed`. As after process start,
 * cuInit comes next. No other thread may be inside the driver. Returns 1, or 0 for an unknown
 * policy or a real driver. */
static inline int vgpu_restart(const char* policy, uint64_t seed) {
  int (*reset)(const char*, uint64_t) =
      (int (*)(const char*, uint64_t))dlsym(RTLD_DEFAULT, "vgpu_reset");
  return reset ? reset(policy, seed) : 0;
}

/* Slices of work that the device has run since the start or the last restart. */
static inline uint64_t vgpu_steps_run(void) {
  uint64_t (*steps)(void) = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "vgpu_steps");
  return steps ? steps() : 0;
}

#ifdef __cplusplus
}
#endif
#endif /* VGPU_CONTROL_H_ */
