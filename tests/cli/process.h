// Runs a program and collects what it prints, for tests of the command line.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace ss {

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Ran {
  int code = -1;  // 128 + signal where a signal ended it
  std::string out, err;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// A child in a process group of its own, output to files in a fresh directory.
class Child {
 public:
  explicit Child(std::vector<std::string> command, const Environment& environment = {}) {
    char folder[] = "/tmp/ss_cli_XXXXXX";
    folder_ = mkdtemp(folder);
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);
    Redirect(1, "/out");
    Redirect(2, "/err");
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(126);
  }
  ~Child() {
    for (const char* name : {"/out", "/err"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }
  std::string out() const { return ReadFile(folder_ + "/out"); }
  std::string err() const { return ReadFile(folder_ + "/err"); }

  Ran Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return {code, out(), err()};
  }

 private:
  void Redirect(int fd, const char* name) const {
    dup2(open((folder_ + name).c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600), fd);
  }

  std::string folder_;
  pid_t pid_ = -1;
};

inline Ran Spawn(std::vector<std::string> command, const Environment& environment = {}) {
  return Child(std::move(command), environment).Wait();
}

// `streamsan ARGUMENTS...`
inline Ran Tool(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), SS_BINARY_DIR "/bin/streamsan");
  return Spawn(std::move(arguments), environment);
}

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content, const std::string& suffix = "") {
    char path[] = "/tmp/ss_file_XXXXXX";
    close(mkstemp(path));
    unlink(path);
    path_ = path + suffix;
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ss
