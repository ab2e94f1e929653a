// Runs a libFuzzer target without libFuzzer: the seeds as they are, then RUNS mutations of them,
// the same ones every time. `./dev fuzz` is the real search, with coverage and sanitizers; this
// keeps what it has found from coming back on machines that have no clang.
//
//   NAME_mutations RUNS SUFFIX WAYS FOLDER...   seeds: files under the folders whose names end with
//   SUFFIX, unpacked; each once behind every character of WAYS, if there are any
//
// Exit code 0, or a signal: then the input lies in NAME_mutations.found in the current folder.
#include <signal.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLongest = 32 << 10;
constexpr char kZstd[] = ".zst";

std::string g_input;
std::string g_found;

void KeepInput(int number) {
  if (FILE* file = std::fopen(g_found.c_str(), "wb")) {
    std::fwrite(g_input.data(), 1, g_input.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "signal %d: the input is in %s\n", number, g_found.c_str());
  signal(number, SIG_DFL);
  raise(number);
}

std::string Unpacked(const std::string& bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return bytes;
  std::string out(size, 0);
  const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  return ZSTD_isError(got) ? bytes : out;
}

void AddSeed(const std::string& bytes, const std::string& ways, std::vector<std::string>& seeds) {
  if (ways.empty()) seeds.push_back(bytes);
  for (char way : ways) seeds.push_back(way + bytes);
}

std::vector<std::string> Seeds(const std::string& suffix, const std::string& ways, int count,
                               char** folders) {
  std::vector<std::string> paths, seeds;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folders[i])) {
      if (entry.path().string().ends_with(suffix)) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (path.ends_with(kZstd)) bytes = Unpacked(bytes);
    AddSeed(bytes.substr(0, kLongest), ways, seeds);
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds), random_(1) {}

  std::string Next() {
    std::string bytes = seeds_[Below(seeds_.size())];
    for (size_t left = 1 + Below(6); left != 0; --left) Change(bytes);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string& bytes) {
    const size_t at = Below(bytes.size() + 1), length = 1 + Below(Below(64) + 1);
    switch (Below(8)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << Below(8));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random_());
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(Below(bytes.size() + 1), length));
        break;
      case 4: {
        const std::string& other = seeds_[Below(seeds_.size())];
        bytes.insert(at, other.substr(Below(other.size() + 1), length));
        break;
      }
      case 5:
        bytes.resize(at);
        break;
      default:
        Overwrite(bytes, at);
    }
  }

  // Sizes, counts and offsets at their ends.
  void Overwrite(std::string& bytes, size_t at) {
    static constexpr uint64_t kValues[] = {
        0,           1,          0x7f,       0x80,       0xff,
        0xffff,      0x7fffffff, 0x80000000, 0xffffffff, ~uint64_t{0} >> 1,
        ~uint64_t{0}};
    const uint64_t value = kValues[Below(std::size(kValues))] - Below(3);
    const size_t width = size_t{1} << Below(4);
    if (at + width <= bytes.size()) std::memcpy(bytes.data() + at, &value, width);
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

void Try(std::string input) {
  g_input = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(g_input.data()), g_input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s RUNS SUFFIX WAYS FOLDER...\n", argv[0]);
    return 2;
  }
  g_found = std::filesystem::path(argv[0]).filename().string() + ".found";
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) signal(number, KeepInput);
  const std::vector<std::string> seeds = Seeds(argv[2], argv[3], argc - 4, argv + 4);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds\n", argv[0]);
    return 1;
  }
  for (const std::string& seed : seeds) Try(seed);
  Mutator mutator(seeds);
  const uint64_t runs = std::strtoull(argv[1], nullptr, 10);
  for (uint64_t i = 0; i < runs; ++i) Try(mutator.Next());
  std::printf("%zu seeds, %llu mutations\n", seeds.size(), static_cast<unsigned long long>(runs));
  return 0;
}
