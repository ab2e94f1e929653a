#include "src/kernels/modules.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "src/kernels/analyse.h"

namespace ss::kernels {
namespace {

struct Module {
  const ModuleImage* image = nullptr;
  Cubin cubin;
  std::vector<std::optional<KernelSummary>> summaries;  // one a kernel
  bool wanted = false;     // some kernel is not in the cache
  bool relocated = false;  // raw bytes would lack addresses
  std::string failure;
};

bool HasRelocations(const Cubin& cubin) {
  for (const TextSection& text : cubin.text) {
    if (text.relocated) return true;
  }
  return false;
}

class Batch {
 public:
  Batch(const Result<Disassembler>& disassembler, Cache& cache)
      : disassembler_(disassembler), cache_(cache) {}

  Analysis Run(const std::vector<ModuleImage>& images) {
    for (const ModuleImage& image : images) Open(image);
    std::map<int, std::vector<Module*>> raw;
    for (Module& module : modules_) {
      if (!module.wanted) continue;
      if (!disassembler_) module.failure = disassembler_.error().Text();
      else if (module.relocated) DisassembleElf(module);
      else raw[module.cubin.arch].push_back(&module);
    }
    for (auto& [arch, group] : raw) DisassembleRaw(arch, group);
    for (Module& module : modules_) Collect(module);
    return std::move(analysis_);
  }

 private:
  void Open(const ModuleImage& image) {
    Result<Cubin> cubin = ReadCubin(image.bytes, image.place);
    if (!cubin) {
      analysis_.notes.push_back(cubin.error().Text());
      return;
    }
    Module module;
    module.image = &image;
    module.cubin = std::move(*cubin);
    module.relocated = HasRelocations(module.cubin);
    for (const KernelInfo& kernel : module.cubin.kernels) {
      module.summaries.push_back(cache_.Get(HashOf(module.cubin, kernel), kernel.name));
      module.wanted |= !module.summaries.back();
    }
    modules_.push_back(std::move(module));
  }

  void DisassembleElf(Module& module) {
    std::vector<uint32_t> symbols;
    for (size_t i = 0; i < module.summaries.size(); ++i) {
      if (!module.summaries[i]) symbols.push_back(module.cubin.kernels[i].symbol);
    }
    // Called functions lie in sections of their own only in relocatable files; then take all.
    bool separate = module.cubin.text.size() > module.cubin.kernels.size();
    if (separate || symbols.size() == module.cubin.kernels.size()) symbols.clear();
    Result<std::string> text = disassembler_->Elf(module.image->bytes, symbols);
    if (!text) {
      module.failure = text.error().Text();
      return;
    }
    auto shared = std::make_shared<const std::string>(std::move(*text));
    Result<Code> code = ParseElfText(shared, module.image->place);
    if (code) Analyse(module, *code, "");
    else module.failure = code.error().Text();
  }

  void DisassembleRaw(int arch, const std::vector<Module*>& group) {
    std::string bytes;
    std::vector<RawPiece> pieces;
    for (size_t m = 0; m < group.size(); ++m) {
      const Cubin& cubin = group[m]->cubin;
      for (const TextSection& text : cubin.text) {
        std::string_view code = cubin.TextOf(text);
        if (code.empty()) continue;
        pieces.push_back({fmt::format("{}:{}", m, text.name), bytes.size(), code.size()});
        bytes += code;
        bytes.resize((bytes.size() + 15) / 16 * 16);
      }
    }
    auto fail = [&group](const std::string& reason) {
      for (Module* module : group) module->failure = reason;
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
    for (size_t i = 0; i < module.summaries.size(); ++i) {
      if (module.summaries[i]) continue;
      module.summaries[i] = analyser.Summarise(module.cubin.kernels[i]);
      cache_.Put(*module.summaries[i]);
    }
  }

  // What could not be disassembled is not cached: the next time it may work.
  void Collect(Module& module) {
    for (size_t i = 0; i < module.summaries.size(); ++i) {
      std::optional<KernelSummary>& one = module.summaries[i];
      if (!one) one = Unresolved(module.cubin, module.cubin.kernels[i], module.failure);
      analysis_.kernels.push_back(std::move(*one));
    }
  }

  const Result<Disassembler>& disassembler_;
  Cache& cache_;
  std::vector<Module> modules_;
  Analysis analysis_;
};

}  // namespace

Analysis AnalyseModules(const std::vector<ModuleImage>& images,
                        const Result<Disassembler>& disassembler, Cache& cache) {
  return Batch(disassembler, cache).Run(images);
}

}  // namespace ss::kernels
