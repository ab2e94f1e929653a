// What the static analysis says of the kernels of a library, and what a kernel costs:
//   kernels_survey_bench ARCH KERNELS FILE...
// Of each file so many kernels are taken, evenly spread over its modules of that architecture.
// Prints how many are resolved, the kinds of reasons where not, pointers to const in the kernels'
// names that are reported written (each is a mistake of the analysis, or a const that is cast
// away), and the time.
#include <cxxabi.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "src/kernels/cubin.h"
#include "src/kernels/fatbin.h"
#include "src/kernels/modules.h"

namespace ss::kernels {
namespace {

constexpr size_t kModulesAtOnce = 256;
constexpr size_t kPointerBytes = 8, kInstructionBytes = 16;

double Seconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Types of the parameters in a demangled name, "" of a name without any.
std::vector<std::string> ParameterTypes(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = text ? text : "";
  free(text);
  std::vector<std::string> types;
  if (name.empty() || name.back() != ')') return types;
  std::string type;
  int depth = 0;
  for (size_t i = name.size() - 1; i-- > 0;) {  // backwards from the last parenthesis
    char c = name[i];
    if (c == '(' && depth == 0) break;
    depth += (c == ')' || c == '>' || c == ']') - (c == '(' || c == '<' || c == '[');
    if (c == ',' && depth == 0) {
      types.insert(types.begin(), type);
      type.clear();
    } else {
      type.insert(type.begin(), c);
    }
  }
  types.insert(types.begin(), type);
  return types;
}

bool IsPointerToConst(const std::string& type) {
  static const std::regex kPattern(R"( const\*( __restrict__| const)*$)");
  return std::regex_search(type, kPattern);
}

// "3 of 7 accesses have ..." and "branch at 0x120 ..." are of one kind each.
std::string KindOf(const std::string& reason) {
  std::string kind = std::regex_replace(reason, std::regex(R"( \(0x.*\)$)"), "");
  kind = std::regex_replace(kind, std::regex("0x[0-9a-f]+"), "#");
  return std::regex_replace(kind, std::regex("[0-9]+"), "#");
}

struct Cost {
  double seconds = 0;      // of the whole, the disassembler's process included
  double own_seconds = 0;  // processor time of this process
};

Cost operator-(Cost a, Cost b) { return {a.seconds - b.seconds, a.own_seconds - b.own_seconds}; }

Cost Spent() {
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return {Seconds(), double(own.tv_sec) + 1e-9 * double(own.tv_nsec)};
}

struct Counts {
  size_t instructions = 0;
  size_t kernels = 0, resolved = 0, accesses = 0, ambiguous = 0, indirect = 0, differences = 0;
  size_t const_pointers = 0, const_written = 0;
  std::map<std::string, size_t> kinds;
  std::vector<std::string> examples;
};

void CountConst(const KernelSummary& summary, Counts& counts) {
  std::vector<std::string> types = ParameterTypes(summary.name);
  if (types.size() != summary.params.size()) return;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!IsPointerToConst(types[i]) || summary.params[i].size != kPointerBytes) continue;
    ++counts.const_pointers;
    for (const Access& access : summary.accesses) {
      bool its = access.root == Root::kParam && access.offset == int32_t(summary.params[i].offset);
      if (!its || !(access.writes || access.updates)) continue;
      ++counts.const_written;
      counts.examples.push_back(fmt::format("const parameter {} of {}: {}{}", i, summary.name,
                                            access.Modes(), access.ambiguous ? ", ambiguous" : ""));
    }
  }
}

void Count(const KernelSummary& summary, Counts& counts) {
  ++counts.kernels;
  counts.resolved += summary.resolved();
  counts.accesses += summary.access_sites;
  counts.differences += !summary.differences.empty();
  auto any = [&](auto predicate) {
    return std::any_of(summary.accesses.begin(), summary.accesses.end(), predicate);
  };
  counts.ambiguous += any([](const Access& one) { return one.ambiguous; });
  counts.indirect += any([](const Access& one) { return one.root == Root::kIndirect; });
  for (const std::string& reason : summary.unresolved) {
    if (!counts.kinds[KindOf(reason)]++) {
      counts.examples.push_back(fmt::format("{}: {}", summary.name, reason));
    }
  }
  CountConst(summary, counts);
}

// Every so many'th of the modules of that architecture.
std::vector<ModuleImage> Pick(const std::string& file, const std::string& path, int arch,
                              size_t kernels) {
  size_t present = 0;
  auto ours = [&](EntryKind kind, int its) { return kind == EntryKind::kCubin && its == arch; };
  auto all = ReadFatbins(file, path, [&](EntryKind kind, int its) {
    present += ours(kind, its);
    return false;
  });
  std::vector<ModuleImage> images;
  if (!all) fmt::print("{}\n", all.error().Text());
  if (!all || !present) return images;
  size_t step = std::max<size_t>(1, present / std::max<size_t>(1, kernels)), seen = 0;
  auto some = ReadFatbins(
      file, path, [&](EntryKind kind, int its) { return ours(kind, its) && seen++ % step == 0; });
  for (FatbinEntry& entry : *some) {
    if (entry.image.empty()) continue;
    images.push_back({fmt::format("{}@byte {}", path, entry.offset), std::move(entry.image)});
  }
  return images;
}

// So many kernels of each image that `kernels` of all of them come together.
std::vector<ModuleRequest> Requests(const std::vector<ModuleImage>& images, size_t kernels,
                                    size_t* instructions) {
  std::vector<ModuleRequest> requests;
  size_t each = (kernels + images.size() - 1) / images.size();
  for (const ModuleImage& image : images) {
    Result<Cubin> cubin = ReadCubin(image.bytes, image.place);
    if (!cubin || cubin->kernels.empty()) continue;
    ModuleRequest request{&image, {}};
    size_t step = std::max<size_t>(1, cubin->kernels.size() / each);
    for (size_t i = 0; i < cubin->kernels.size() && request.kernels.size() < each; i += step) {
      request.kernels.push_back(cubin->kernels[i].name);
      *instructions += cubin->text[cubin->kernels[i].section].size / kInstructionBytes;
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

Cost Analyse(const std::vector<ModuleRequest>& requests, const Result<Disassembler>& disassembler,
             Cache& cache, Counts& counts) {
  Cost start = Spent();
  for (size_t at = 0; at < requests.size(); at += kModulesAtOnce) {
    size_t end = std::min(requests.size(), at + kModulesAtOnce);
    std::vector<ModuleRequest> some(requests.begin() + at, requests.begin() + end);
    auto notes = Summarise(some, disassembler, cache,
                           [&](size_t, KernelSummary one) { Count(one, counts); });
    for (const std::string& note : notes) fmt::print("  note: {}\n", note);
  }
  return Spent() - start;
}

void Print(const std::string& path, const Counts& counts, Cost fresh, Cost cached) {
  fmt::print(
      "{}: {} kernels, {} resolved ({:.1f}%), {} accesses, {} with ambiguous words, {} with "
      "indirect roots, {} with differences; {} pointers to const, {} reported written\n",
      path.substr(path.rfind('/') + 1), counts.kernels, counts.resolved,
      100.0 * counts.resolved / std::max<size_t>(1, counts.kernels), counts.accesses,
      counts.ambiguous, counts.indirect, counts.differences, counts.const_pointers,
      counts.const_written);
  for (const auto& [kind, count] : counts.kinds) fmt::print("  {:5}  {}\n", count, kind);
  for (const std::string& one : counts.examples) fmt::print("  e.g. {}\n", one.substr(0, 600));
  double each = std::max<size_t>(1, counts.kernels);
  fmt::print(
      "  {:.0f} instructions a kernel; {:.2f} ms a new kernel, {:.2f} of them analysis; {:.3f} ms "
      "a "
      "cached one\n",
      counts.instructions / each, 1e3 * fresh.seconds / each, 1e3 * fresh.own_seconds / each,
      1e3 * cached.seconds / each);
}

int Run(int arch, size_t kernels, const std::vector<std::string>& paths) {
  Result<Disassembler> disassembler = Disassembler::Find();
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::string file{std::istreambuf_iterator<char>(in), {}};
    std::vector<ModuleImage> images = Pick(file, path, arch, kernels);
    if (images.empty()) {
      fmt::print("{}: nothing for sm_{}\n", path, arch);
      continue;
    }
    Counts counts, again;
    std::vector<ModuleRequest> requests = Requests(images, kernels, &counts.instructions);
    char directory[] = "/tmp/kernels_survey.XXXXXX";
    if (!mkdtemp(directory)) return 2;
    Cache cache(directory);
    Cost fresh = Analyse(requests, disassembler, cache, counts);
    Cost cached = Analyse(requests, disassembler, cache, again);
    Print(path, counts, fresh, cached);
    if (system(fmt::format("rm -r {}", directory).c_str()) != 0) return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ss::kernels

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: kernels_survey_bench ARCH KERNELS FILE...\n");
    return 2;
  }
  return ss::kernels::Run(atoi(argv[1]), strtoul(argv[2], nullptr, 10), {argv + 3, argv + argc});
}
