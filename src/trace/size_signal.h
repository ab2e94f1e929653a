// RLIMIT_FSIZE as an error like any other. Also in the watched program: libc only.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace ss::trace {

// While it lives: a write or growth (of a memfd too) beyond RLIMIT_FSIZE raises SIGXFSZ in this
// thread, which would end the process. Ignoring the signal was rejected: the program that is
// started would inherit that.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSizeSignal() {
    if (sigismember(&before_, SIGXFSZ)) return;
    int error = errno;
    timespec no_wait{};
    sigtimedwait(&signal_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t signal_, before_;
};

}  // namespace ss::trace
