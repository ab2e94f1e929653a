#include "src/kernels/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

// Both pipes until they end; false when the time is over or nobody wants it any more.
bool Drain(Pipe& out, Pipe& error, Clock::time_point deadline, const std::atomic<bool>* cancel,
           size_t most, std::string texts[2]) {
  pollfd files[2] = {{out.ends[0], POLLIN, 0}, {error.ends[0], POLLIN, 0}};
  char buffer[1 << 16];
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || (cancel && *cancel)) return false;
    int ready = poll(files, 2, static_cast<int>(std::min(left, kLook).count()));
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
bool Ended(pid_t child, Clock::time_point deadline, const std::atomic<bool>* cancel, int* status) {
  for (auto nap = std::chrono::milliseconds(1);; nap = std::min(nap * 2, kLook)) {
    const pid_t got = waitpid(child, status, WNOHANG);
    if (got == child || (got < 0 && errno != EINTR)) return true;
    if (Clock::now() >= deadline || (cancel && *cancel)) return false;
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

Result<std::string> CaptureOutput(const std::vector<std::string>& argv, int timeout_s,
                                  const std::atomic<bool>* cancel, size_t most) {
  Pipe out, error;
  if (!out.Open() || !error.Open()) return Fail(argv[0], std::strerror(errno));
  pid_t child = 0;
  if (int failed = Spawn(argv, out, error, &child)) {
    return Fail(argv[0], fmt::format("cannot be started: {}", std::strerror(failed)));
  }
  out.Close(1);
  error.Close(1);
  std::string texts[2];
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(timeout_s);
  bool done = Drain(out, error, deadline, cancel, most, texts);
  int status = 0;
  done = done && Ended(child, deadline, cancel, &status);
  if (!done) {
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (!done && cancel && *cancel) return Fail(argv[0], "was stopped: the analysis is over");
  if (!done && std::max(texts[0].size(), texts[1].size()) > most) {
    return Fail(argv[0], fmt::format("printed more than {} bytes", most));
  }
  if (!done) return Fail(argv[0], fmt::format("did not finish within {} s", timeout_s));
  if (status != 0) {
    std::string first = texts[1].substr(0, texts[1].find('\n'));
    return Fail(argv[0],
                fmt::format("failed ({} {}): {}", WIFEXITED(status) ? "exit" : "signal",
                            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), first));
  }
  return std::move(texts[0]);
}

}  // namespace ss::kernels
