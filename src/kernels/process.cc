#include "src/kernels/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

extern char** environ;

namespace ss::kernels {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int ends[2] = {-1, -1};
  bool Open() { return pipe2(ends, O_CLOEXEC) == 0; }
  void Close(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
};

int Spawn(const std::vector<std::string>& argv, Pipe& out, Pipe& error, pid_t* child) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, error.ends[1], 2);
  // A group of its own: a script goes with whatever it started.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  int failed = posix_spawnp(child, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

constexpr std::chrono::milliseconds kLook{200};  // for a cancellation

std::atomic<TellSlow> tell_slow{nullptr};

// One program's time.
class Watch {
 public:
  Watch(const std::string& program, int timeout_s, const std::atomic<bool>* cancel)
      : program_(program), timeout_s_(timeout_s), cancel_(cancel) {}

  std::chrono::milliseconds Left() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        begin_ + std::chrono::seconds(timeout_s_) - Clock::now());
  }
  // Time is over, or nobody wants it any more. Tells of one that takes long.
  bool Over() {
    const TellSlow tell = tell_slow;
    if (tell && Clock::now() - begin_ >= next_) {
      tell(program_, static_cast<int>(next_.count()), timeout_s_);
      next_ *= 2;
    }
    return Left().count() <= 0 || (cancel_ && *cancel_);
  }

 private:
  const std::string& program_;
  int timeout_s_;
  const std::atomic<bool>* cancel_;
  Clock::time_point begin_ = Clock::now();
  std::chrono::seconds next_{5};
};

// Programs that run, for EndPrograms.
std::array<std::atomic<pid_t>, 256> running{};

class Running {
 public:
  explicit Running(pid_t pid) {
    for (std::atomic<pid_t>& place : running) {
      pid_t none = 0;
      if (!place.compare_exchange_strong(none, pid)) continue;
      place_ = &place;
      return;
    }
  }
  ~Running() {
    if (place_) *place_ = 0;
  }

 private:
  std::atomic<pid_t>* place_ = nullptr;
};

// Both pipes until they end; false when the time is over or nobody wants it any more.
bool Drain(Pipe& out, Pipe& error, Watch& watch, size_t most, std::string texts[2]) {
  pollfd files[2] = {{out.ends[0], POLLIN, 0}, {error.ends[0], POLLIN, 0}};
  char buffer[1 << 16];
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    if (watch.Over()) return false;
    const auto left = std::clamp(watch.Left(), std::chrono::milliseconds(0), kLook);
    int ready = poll(files, 2, static_cast<int>(left.count()));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (!files[i].revents) continue;
      ssize_t got = read(files[i].fd, buffer, sizeof buffer);
      if (got > 0) {
        texts[i].append(buffer, static_cast<size_t>(got));
        if (texts[i].size() > most) return false;
      } else if (got == 0 || errno != EINTR) {
        files[i].fd = -1;
      }
    }
  }
  return true;
}

// A program may close its output and live on.
bool Ended(pid_t child, Watch& watch, int* status) {
  for (auto nap = std::chrono::milliseconds(1);; nap = std::min(nap * 2, kLook)) {
    const pid_t got = waitpid(child, status, WNOHANG);
    if (got == child || (got < 0 && errno != EINTR)) return true;
    if (watch.Over()) return false;
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

void TellOfSlowPrograms(TellSlow tell) { tell_slow = tell; }

void EndPrograms() {
  for (const std::atomic<pid_t>& pid : running) {
    if (const pid_t group = pid) kill(-group, SIGKILL);
  }
}

Result<std::string> CaptureOutput(const std::vector<std::string>& argv, int timeout_s,
                                  const std::atomic<bool>* cancel, size_t most) {
  Pipe out, error;
  if (!out.Open() || !error.Open()) return Fail(argv[0], std::strerror(errno), "raise `ulimit -n`");
  pid_t child = 0;
  if (int failed = Spawn(argv, out, error, &child)) {
    return Fail(argv[0], fmt::format("cannot be started: {}", std::strerror(failed)),
                "is it a program for this machine?");
  }
  const Running listed(child);
  out.Close(1);
  error.Close(1);
  std::string texts[2];
  Watch watch(argv[0], timeout_s, cancel);
  bool done = Drain(out, error, watch, most, texts);
  int status = 0;
  done = done && Ended(child, watch, &status);
  if (!done) {
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!done && cancel && *cancel) return Fail(argv[0], "was stopped: the analysis is over");
  if (!done && std::max(texts[0].size(), texts[1].size()) > most) {
    return Fail(argv[0], fmt::format("printed more than {} bytes", most));
  }
  if (!done)
    return Fail(argv[0], fmt::format("did not finish within {} s", timeout_s),
                "does it work by hand?");
  if (status != 0) {
    std::string first = texts[1].substr(0, texts[1].find('\n'));
    return Fail(argv[0],
                fmt::format("failed ({} {}): {}", WIFEXITED(status) ? "exit" : "signal",
                            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), first));
  }
  return std::move(texts[0]);
}

}  // namespace ss::kernels
