#include "src/kernels/modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "src/kernels/analyse.h"

namespace ss::kernels {
namespace {

// Of a module whose code has to be disassembled whole: a quarter of a minute and half a gigabyte of text.
constexpr uint64_t kMaxWhole = uint64_t{16} << 20;

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
        DisassembleElf(module);
      } else {
        raw[module.cubin.arch].push_back(&module);
      }
    }
    for (auto& [arch, group] : raw) DisassembleRaw(arch, group);
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
      bool wanted = names.empty() || std::find(names.begin(), names.end(), kernel.name) != names.end();
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

  void DisassembleElf(Module& module) {
    std::vector<uint32_t> symbols;
    for (uint32_t kernel : module.missing) symbols.push_back(module.cubin.kernels[kernel].symbol);
    // Called functions lie in sections of their own only in relocatable files; then take all.
    bool separate = module.cubin.text.size() > module.cubin.kernels.size();
    if (separate || symbols.size() == module.cubin.kernels.size()) symbols.clear();
    uint64_t bytes = 0;
    for (const TextSection& text : module.cubin.text) bytes += text.size;
    if (symbols.empty() && bytes > kMaxWhole) {
      return Fail(module, fmt::format("its module has {} MiB of code that belongs together", bytes >> 20));
    }
    Result<std::string> text = disassembler_->Elf(module.image->bytes, symbols);
    if (!text) return Fail(module, text.error().Text());
    auto shared = std::make_shared<const std::string>(std::move(*text));
    Result<Code> code = ParseElfText(shared, module.image->place);
    if (!code) return Fail(module, code.error().Text());
    Analyse(module, *code, "");
  }

  // Sections of kernels that nobody asked for are left out; what is no kernel may be called.
  static std::vector<bool> WantedSections(const Module& module) {
    const Cubin& cubin = module.cubin;
    std::vector<bool> wanted(cubin.text.size(), true);
    for (const KernelInfo& kernel : cubin.kernels) wanted[kernel.section] = false;
    for (uint32_t kernel : module.missing) wanted[cubin.kernels[kernel].section] = true;
    return wanted;
  }

  void DisassembleRaw(int arch, const std::vector<Module*>& group) {
    std::string bytes;
    std::vector<RawPiece> pieces;
    for (size_t m = 0; m < group.size(); ++m) {
      const Cubin& cubin = group[m]->cubin;
      const std::vector<bool> wanted = WantedSections(*group[m]);
      for (size_t i = 0; i < cubin.text.size(); ++i) {
        std::string_view code = cubin.TextOf(cubin.text[i]);
        if (code.empty() || !wanted[i]) continue;
        pieces.push_back({fmt::format("{}:{}", m, cubin.text[i].name), bytes.size(), code.size()});
        bytes += code;
        bytes.resize((bytes.size() + 15) / 16 * 16);
      }
    }
    auto fail = [&](const std::string& reason) {
      for (Module* module : group) Fail(*module, reason);
    };
    Result<std::string> text = disassembler_->Raw(arch, bytes);
    if (!text) return fail(text.error().Text());
    auto shared = std::make_shared<const std::string>(std::move(*text));
    Result<Code> code = ParseRawText(shared, pieces, disassembler_->program());
    if (!code) return fail(code.error().Text());
    for (size_t m = 0; m < group.size(); ++m) Analyse(*group[m], *code, fmt::format("{}:", m));
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
  std::vector<Module> modules_;
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
  for (const ModuleImage& image : images) requests.push_back({&image, {}});
  analysis.notes = Summarise(requests, disassembler, cache, [&](size_t request, KernelSummary one) {
    summaries[{request, one.name}] = std::move(one);
  });
  for (auto& [key, summary] : summaries) analysis.kernels.push_back(std::move(summary));
  return analysis;
}

}  // namespace ss::kernels
