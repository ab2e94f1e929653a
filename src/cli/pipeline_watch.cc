// `streamsan pipeline watch`: the program with the watching library inside (src/sanitizer), its
// recordings analysed here when it has ended, or when its kernels have stopped moving.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "src/cli/child.h"
#include "src/cli/inputs.h"
#include "src/cli/installation.h"
#include "src/cli/observed.h"
#include "src/cli/options.h"
#include "src/cli/output.h"

namespace ss {
namespace {

namespace fs = std::filesystem;

// The recordings of one run: a directory of its own, removed with it unless it was asked for.
class RecordingFolder {
 public:
  static Result<RecordingFolder> Make(const std::string& wanted) {
    RecordingFolder folder;
    if (wanted.empty()) {
      std::string name = (fs::temp_directory_path() / "streamsan-pipeline-XXXXXX").string();
      if (!mkdtemp(name.data())) {
        return Fail(name, fmt::format("cannot be made: {}", std::strerror(errno)),
                    "set TMPDIR to a folder that can be written");
      }
      folder.path_ = name;
      folder.temporary_ = true;
      return folder;
    }
    std::error_code error;
    fs::create_directories(wanted, error);
    if (error) return Fail(wanted, error.message(), "name a folder that can be written");
    folder.path_ = fs::absolute(wanted).string();
    for (const auto& entry : fs::directory_iterator(folder.path_, error)) {
      if (entry.path().extension() == ".sslog")
        return Fail(wanted, "holds recordings of an earlier run", "name an empty directory");
    }
    if (error) return Fail(wanted, error.message(), "name a folder that can be read");
    return folder;
  }

  RecordingFolder(RecordingFolder&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  ~RecordingFolder() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  // A process of the program has said that its kernels no longer move.
  bool Hung() const {
    std::error_code error;
    for (auto it = fs::directory_iterator(path_, error); !error && it != fs::directory_iterator();
         it.increment(error)) {
      if (it->path().extension() == ".hung") return true;
    }
    return false;
  }

 private:
  RecordingFolder() = default;
  std::string path_;
  bool temporary_ = false;
};

Result<Launch> PrepareLaunch(const WatchCommandOptions& options, const std::string& folder) {
  Result<std::string> library = FindPipelineLibrary();
  if (!library) return tl::unexpected(library.error());
  Result<std::string> sanitizer = FindSanitizerLibrary();
  if (!sanitizer) return tl::unexpected(sanitizer.error());
  Launch launch{options.command, {}};
  launch.environment = {
      {"CUDA_INJECTION64_PATH", *library},
      {"STREAMSAN_SANITIZER_LIBRARY", *sanitizer},
      {"STREAMSAN_PIPELINE_LOG", folder},
      {"STREAMSAN_PIPELINE_LOG_MB", std::to_string(options.log_mb)},
      {"STREAMSAN_PIPELINE_LAUNCHES", std::to_string(options.launches)},
      {"STREAMSAN_PIPELINE_BLOCKS", std::to_string(options.blocks)},
      {"STREAMSAN_PIPELINE_HANG_MS", std::to_string(options.hang_seconds * 1000)}};
  return launch;
}

// While it lives, looks for the sign of a hang; then the program has nothing more to say and is
// ended.
class HangWatch {
 public:
  HangWatch(const RecordingFolder& folder, pid_t program)
      : thread_([this, &folder, program] {
          while (!stop_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            if (!folder.Hung()) continue;
            hung_ = true;
            kill(program, SIGKILL);
            return;
          }
        }) {}
  ~HangWatch() { Stop(); }
  bool Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return hung_;
  }

 private:
  std::atomic<bool> stop_{false}, hung_{false};
  std::thread thread_;
};

}  // namespace

int PipelineWatchCommand(const WatchCommandOptions& options) {
  Result<RecordingFolder> folder = RecordingFolder::Make(options.output);
  if (!folder) return Complain(folder.error());
  Result<Launch> launch = PrepareLaunch(options, folder->path());
  if (!launch) return Complain(launch.error());
  Result<pid_t> pid = StartProgram(*launch);
  if (!pid) return Complain(pid.error());
  HangWatch watch(*folder, *pid);
  int code = WaitForProgram(*pid);
  const bool hung = watch.Stop();

  Result<std::vector<std::string>> files = FindInputs({folder->path()}, {".sslog"});
  if (!files) {
    return Complain({options.command.front(),
                     "no process of it was watched: none initialised the CUDA driver, or the "
                     "library could not be loaded",
                     "streamsan doctor"});
  }
  if (hung) Tell("streamsan: its kernels stopped moving; the program was ended\n");
  Result<int> judged = JudgeRecordings(*files, options.report, hung ? 0 : code);
  return judged ? *judged : Complain(judged.error());
}

}  // namespace ss
