#include "src/cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ss {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> forward_to{0};
std::atomic<int> end_requests{0};

// A terminal signals the whole foreground group, the program included: sending it once more would
// be a second Ctrl-C for programs that count. Only what was sent to this process alone is passed
// on.
void Forward(int signal, siginfo_t* info, void*) {
  int saved = errno;
  pid_t pid = forward_to.load();
  bool ends = signal == SIGINT || signal == SIGTERM;
  if (pid > 0 && ends && end_requests.fetch_add(1) > 0) {
    kill(pid, SIGKILL);
  } else if (pid > 0 && info->si_code != SI_KERNEL) {
    kill(pid, signal);
  }
  errno = saved;
}

// While it lives, this process survives the signals of kForwarded.
class ForwardSignals {
 public:
  explicit ForwardSignals(pid_t pid) {
    forward_to = pid;
    end_requests = 0;
    struct sigaction action {};
    action.sa_sigaction = Forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &action, &before_[i]);
  }
  ~ForwardSignals() {
    forward_to = 0;
    for (size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }

 private:
  std::array<struct sigaction, kForwarded.size()> before_{};
};

// In the child. Writes errno to `failure` when the program cannot be executed.
[[noreturn]] void Execute(const Launch& launch, int failure) {
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : launch.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int reason = errno;
  [[maybe_unused]] ssize_t written = write(failure, &reason, sizeof reason);
  _exit(127);
}

}  // namespace

Result<pid_t> StartProgram(const Launch& launch) {
  const std::string& name = launch.command.front();
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return Fail(name, std::strerror(errno), "raise `ulimit -n`");
  pid_t pid = fork();
  if (pid == 0) Execute(launch, failure[1]);
  close(failure[1]);
  int reason = pid < 0 ? errno : 0;
  bool failed = pid < 0 || read(failure[0], &reason, sizeof reason) == sizeof reason;
  close(failure[0]);
  if (!failed) return pid;
  if (pid > 0) waitpid(pid, nullptr, 0);
  return Fail(name, std::string("cannot be run: ") + std::strerror(reason),
              "usage: streamsan run [OPTIONS] -- PROGRAM [ARGUMENTS]");
}

int WaitForProgram(pid_t pid) {
  ForwardSignals forward(pid);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static std::atomic<bool> interrupted{false};
constexpr std::array kEnding = {SIGINT, SIGTERM};

Interruption::Interruption() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kEnding.size(); ++i) sigaction(kEnding[i], &action, &before_[i]);
}

Interruption::~Interruption() {
  for (size_t i = 0; i < kEnding.size(); ++i) sigaction(kEnding[i], &before_[i], nullptr);
}

bool Interruption::asked() const { return interrupted; }

}  // namespace ss
