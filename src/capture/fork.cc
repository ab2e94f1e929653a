// fork, seen from the parent: which processes came from this one. The child begins a session of its
// own when it uses the driver. pthread_atfork would not tell the child's id; vfork and posix_spawn
// only start other programs, which say themselves whose children they are.
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "src/capture/driver.h"
#include "src/capture/session.h"

namespace ss::capture {
namespace {

using ForkFunction = pid_t (*)();

void NoteFork(pid_t child) {
  int error = errno;
  Thread* thread = OpenedThread();
  if (thread && !thread->in_driver) {
    Note(*thread, trace::view::Fork{.child = static_cast<uint64_t>(child)});
  }
  errno = error;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] pid_t fork() {
  static ForkFunction real = reinterpret_cast<ForkFunction>(RealDlsym(RTLD_NEXT, "fork"));
  if (!real) {
    errno = ENOSYS;
    return -1;
  }
  pid_t child = real();
  if (child > 0) NoteFork(child);
  return child;
}

}  // namespace ss::capture
