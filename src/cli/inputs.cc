#include "src/cli/inputs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace ss {
namespace {

namespace fs = std::filesystem;

bool HasAny(const std::string& path, const std::vector<const char*>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return HasSuffix(path, suffix); });
}

Result<void> Search(const std::string& folder, const std::vector<const char*>& suffixes,
                    std::vector<std::string>& files) {
  std::error_code error;
  std::vector<std::string> found;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::string path = at->path().string();
    if (at->is_regular_file(error) && HasAny(path, suffixes)) found.push_back(path);
  }
  if (error) return Fail(folder, "cannot be searched: " + error.message(), "name its files");
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
  return {};
}

}  // namespace

bool HasSuffix(const std::string& path, const char* suffix) {
  size_t length = std::strlen(suffix);
  return path.size() >= length && path.compare(path.size() - length, length, suffix) == 0;
}

Result<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths,
                                            const std::vector<const char*>& suffixes) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return Fail(path, "does not exist", "is its path right?");
    if (!fs::is_directory(status)) {
      files.push_back(path);
    } else if (Result<void> searched = Search(path, suffixes, files); !searched) {
      return tl::unexpected(searched.error());
    }
  }
  if (!files.empty()) return files;
  std::string wanted;
  for (const char* suffix : suffixes) wanted += std::string(wanted.empty() ? "" : " or ") + suffix;
  return Fail(paths.front(), "holds no " + wanted + " file",
              "name a file, or a folder that has some");
}

}  // namespace ss
