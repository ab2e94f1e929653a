#include "tests/capture/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "src/trace/collector.h"

namespace ss::test {
namespace {

std::vector<std::string> Environment(const RunOptions& options, const std::string& socket) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  std::string preload = options.preload_before;
  for (const std::string& library : {Library("streamsan_capture"), options.preload_after}) {
    if (!library.empty()) preload += (preload.empty() ? "" : ":") + library;
  }
  environment.push_back("LD_PRELOAD=" + preload);
  environment.push_back(std::string("LD_LIBRARY_PATH=") + SS_BINARY_DIR +
                        "/lib/vgpu:" + SS_BINARY_DIR + "/lib");
  if (options.with_socket) environment.push_back("STREAMSAN_SOCKET=" + socket);
  for (const std::string& entry : options.environment) environment.push_back(entry);
  return environment;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::map<std::string, uint64_t> Lines(const std::string& text) {
  std::map<std::string, uint64_t> values;
  std::istringstream stream(text);
  std::string name;
  std::string value;
  while (stream >> name >> value) values[name] = strtoull(value.c_str(), nullptr, 0);
  return values;
}

}  // namespace

std::string Program(const std::string& name) { return std::string(SS_BINARY_DIR) + "/bin/" + name; }
std::string Library(const std::string& name) {
  return std::string(SS_BINARY_DIR) + "/lib/lib" + name + ".so";
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t size;
  while ((size = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(size));
  close(fd);
  return text;
}

Child Spawn(const std::vector<std::string>& command, const RunOptions& options,
            const std::string& socket) {
  std::vector<std::string> environment = Environment(options, socket);
  std::vector<char*> argv = Pointers(command);
  std::vector<char*> envp = Pointers(environment);
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return {};
  Child child;
  child.pid = fork();
  if (child.pid == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  child.out = out[0];
  child.err = err[0];
  return child;
}

Watched Run(const std::vector<std::string>& command, const RunOptions& options) {
  Watched watched;
  std::mutex mutex;
  trace::CollectorOptions collecting;
  collecting.make_sinks = [&](const trace::ProcessInfo&) {
    trace::Sinks sinks;
    sinks.push_back(std::make_unique<trace::LiveSink>(
        [&](const trace::Record& record) {
          std::lock_guard lock(mutex);
          watched.records.push_back(record);
        },
        [&](const trace::ProcessEnding& ending, uint64_t late, uint64_t malformed) {
          std::lock_guard lock(mutex);
          watched.ended.push_back({ending.dropped_at_end, late, malformed});
        }));
    return sinks;
  };
  auto collector = trace::Collector::Start(collecting);
  if (!collector) {
    watched.errors = "no collector";
    watched.status = -1;
    return watched;
  }
  Child child = Spawn(command, options, (*collector)->socket_name());
  std::thread reader([&] { watched.errors = ReadAll(child.err); });
  watched.output = ReadAll(child.out);
  reader.join();
  waitpid(child.pid, &watched.status, 0);
  (*collector)->WaitUntilIdle(std::chrono::seconds(10));
  (*collector)->Stop();
  return watched;
}

std::string Watched::Text(uint64_t id) const {
  for (const trace::Text& text : All<trace::Text>()) {
    if (text.text_id == id) return text.text;
  }
  return {};
}

std::map<std::string, uint64_t> Watched::Counters() const {
  std::map<std::string, uint64_t> counts;
  auto all = All<trace::Counters>();
  if (all.empty()) return counts;
  const std::vector<uint64_t>& pairs = all.back().counts;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) counts[Text(pairs[i])] = pairs[i + 1];
  return counts;
}

std::map<std::string, uint64_t> Watched::Unmodelled() const {
  std::map<std::string, uint64_t> counts;
  for (const trace::Unmodelled& record : All<trace::Unmodelled>()) {
    counts[Text(record.text_id)] += record.count;
  }
  return counts;
}

std::map<std::string, uint64_t> Watched::Printed() const { return Lines(output); }

}  // namespace ss::test
