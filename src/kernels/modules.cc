#include "src/kernels/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "src/kernels/analyse.h"

namespace ss::kernels {
namespace {

// Of a module whose code has to be disassembled whole: a quarter of a minute and half a gigabyte of
// text.
constexpr uint64_t kMaxWhole = uint64_t{16} << 20;
// Of the disassembler at once: the watched program needs the processors, too.
constexpr size_t kMostProcesses = 4;

struct Module {
  size_t request = 0;
  const ModuleImage* image = nullptr;
  Cubin cubin;
  std::vector<uint32_t> missing;  // kernels that were asked for and are not in the cache
  bool relocated = false;         // raw bytes would lack addresses
};

bool HasRelocations(const Cubin& cubin) {
  return std::any_of(cubin.text.begin(), cubin.text.end(),
                     [](const TextSection& text) { return text.relocated; });
}

class Batch {
 public:
  Batch(const Result<Disassembler>& disassembler, Cache& cache, const OnSummary& on_summary)
      : disassembler_(disassembler), cache_(cache), on_summary_(on_summary) {}

  std::vector<std::string> Run(const std::vector<ModuleRequest>& requests) {
    for (size_t i = 0; i < requests.size(); ++i) Open(i, requests[i]);
    std::map<int, std::vector<Module*>> raw;
    for (Module& module : modules_) {
      if (module.missing.empty()) continue;
      if (!disassembler_) {
        Fail(module, disassembler_.error().Text());
      } else if (module.relocated) {
        PlanElf(module);
      } else {
        raw[module.cubin.arch].push_back(&module);
      }
    }
    for (auto& [arch, group] : raw) PlanRaw(arch, group);
    Disassemble();
    return std::move(notes_);
  }

 private:
  void Open(size_t index, const ModuleRequest& request) {
    Result<Cubin> cubin = ReadCubin(request.image->bytes, request.image->place);
    if (!cubin) {
      notes_.push_back(cubin.error().Text());
      return;
    }
    Module module;
    module.request = index;
    module.image = request.image;
    module.cubin = std::move(*cubin);
    module.relocated = HasRelocations(module.cubin);
    const std::vector<std::string>& names = request.kernels;
    for (uint32_t i = 0; i < module.cubin.kernels.size(); ++i) {
      const KernelInfo& kernel = module.cubin.kernels[i];
      bool wanted =
          names.empty() || std::find(names.begin(), names.end(), kernel.name) != names.end();
      if (!wanted) continue;
      std::optional<KernelSummary> kept = cache_.Get(HashOf(module.cubin, kernel), kernel.name);
      if (kept) {
        on_summary_(index, std::move(*kept));
      } else {
        module.missing.push_back(i);
      }
    }
    modules_.push_back(std::move(module));
  }

  // One process of the disassembler.
  struct Job {
    std::vector<Module*> modules;
    std::function<Result<std::string>()> disassemble;
    std::function<Result<Code>(std::shared_ptr<const std::string>)> parse;
    bool prefixed = false;  // sections are named "N:NAME", N an index into `modules`
  };

  void PlanElf(Module& module) {
    std::vector<uint32_t> symbols;
    for (uint32_t kernel : module.missing) symbols.push_back(module.cubin.kernels[kernel].symbol);
    // Called functions lie in sections of their own only in relocatable files; then take all.
    bool separate = module.cubin.text.size() > module.cubin.kernels.size();
    if (separate || symbols.size() == module.cubin.kernels.size()) symbols.clear();
    uint64_t bytes = 0;
    for (const TextSection& text : module.cubin.text) bytes += text.size;
    if (symbols.empty() && bytes > kMaxWhole) {
      return Fail(module,
                  fmt::format("its module has {} MiB of code that belongs together", bytes >> 20));
    }
    const ModuleImage* image = module.image;
    jobs_.push_back({{&module},
                     [this, image, symbols] { return disassembler_->Elf(image->bytes, symbols); },
                     [image](auto text) { return ParseElfText(std::move(text), image->place); }});
  }

  // Sections of kernels that nobody asked for are left out; what is no kernel may be called.
  static std::vector<bool> WantedSections(const Module& module) {
    const Cubin& cubin = module.cubin;
    std::vector<bool> wanted(cubin.text.size(), true);
    for (const KernelInfo& kernel : cubin.kernels) wanted[kernel.section] = false;
    for (uint32_t kernel : module.missing) wanted[cubin.kernels[kernel].section] = true;
    return wanted;
  }

  // Modules together up to so much code: enough to make up for what a process costs at its start,
  // little enough that several may run at once.
  static constexpr size_t kEnough = size_t{512} << 10;

  void PlanRaw(int arch, const std::vector<Module*>& group) {
    Job job;
    std::string bytes;
    std::vector<RawPiece> pieces;
    auto flush = [&] {
      if (job.modules.empty()) return;
      job.prefixed = true;
      job.disassemble = [this, arch, code = std::move(bytes)] {
        return disassembler_->Raw(arch, code);
      };
      job.parse = [this, all = std::move(pieces)](auto text) {
        return ParseRawText(std::move(text), all, disassembler_->program());
      };
      jobs_.push_back(std::move(job));
      job = {};
      bytes.clear();
      pieces.clear();
    };
    for (Module* module : group) {
      AddCode(*module, job.modules.size(), &bytes, &pieces);
      job.modules.push_back(module);
      if (bytes.size() >= kEnough) flush();
    }
    flush();
  }

  static void AddCode(const Module& module, size_t number, std::string* bytes,
                      std::vector<RawPiece>* pieces) {
    const Cubin& cubin = module.cubin;
    const std::vector<bool> wanted = WantedSections(module);
    for (size_t i = 0; i < cubin.text.size(); ++i) {
      std::string_view code = cubin.TextOf(cubin.text[i]);
      if (code.empty() || !wanted[i]) continue;
      pieces->push_back(
          {fmt::format("{}:{}", number, cubin.text[i].name), bytes->size(), code.size()});
      *bytes += code;
      bytes->resize((bytes->size() + 15) / 16 * 16);
    }
  }

  // A few at once: nearly all the time goes into these processes.
  void Disassemble() {
    const size_t width = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostProcesses);
    std::deque<std::future<Result<std::string>>> running;
    for (size_t next = 0, done = 0; done < jobs_.size(); ++done) {
      for (; next < jobs_.size() && running.size() < width; ++next) {
        running.push_back(std::async(std::launch::async, jobs_[next].disassemble));
      }
      Result<std::string> text = running.front().get();
      running.pop_front();
      Take(jobs_[done], std::move(text));
    }
  }

  void Take(Job& job, Result<std::string> text) {
    auto fail = [&](const std::string& reason) {
      for (Module* module : job.modules) Fail(*module, reason);
    };
    if (!text) return fail(text.error().Text());
    Result<Code> code = job.parse(std::make_shared<const std::string>(std::move(*text)));
    if (!code) return fail(code.error().Text());
    for (size_t m = 0; m < job.modules.size(); ++m) {
      Analyse(*job.modules[m], *code, job.prefixed ? fmt::format("{}:", m) : "");
    }
  }

  void Analyse(Module& module, const Code& code, const std::string& prefix) {
    Analyser analyser(module.cubin, code, prefix);
    for (uint32_t kernel : module.missing) {
      KernelSummary summary = analyser.Summarise(module.cubin.kernels[kernel]);
      cache_.Put(summary);
      on_summary_(module.request, std::move(summary));
    }
  }

  // What could not be disassembled is not cached: the next time it may work.
  void Fail(const Module& module, const std::string& reason) {
    for (uint32_t kernel : module.missing) {
      on_summary_(module.request, Unresolved(module.cubin, module.cubin.kernels[kernel], reason));
    }
  }

  const Result<Disassembler>& disassembler_;
  Cache& cache_;
  const OnSummary& on_summary_;
  std::deque<Module> modules_;  // jobs point to them
  std::vector<Job> jobs_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> Summarise(const std::vector<ModuleRequest>& requests,
                                   const Result<Disassembler>& disassembler, Cache& cache,
                                   const OnSummary& on_summary) {
  return Batch(disassembler, cache, on_summary).Run(requests);
}

Analysis AnalyseModules(const std::vector<ModuleImage>& images,
                        const Result<Disassembler>& disassembler, Cache& cache) {
  Analysis analysis;
  std::vector<ModuleRequest> requests;
  std::map<std::pair<size_t, std::string>, KernelSummary> summaries;
  requests.reserve(images.size());
  for (const ModuleImage& image : images) requests.push_back({&image, {}});
  analysis.notes = Summarise(requests, disassembler, cache, [&](size_t request, KernelSummary one) {
    summaries[{request, one.name}] = std::move(one);
  });
  for (auto& [key, summary] : summaries) analysis.kernels.push_back(std::move(summary));
  return analysis;
}

}  // namespace ss::kernels
