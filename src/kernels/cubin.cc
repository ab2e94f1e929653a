#include "src/kernels/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "src/kernels/elf.h"
#include "src/kernels/hash.h"

namespace ss::kernels {
namespace {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA
constexpr uint8_t kEntry = 0x10;        // STO_CUDA_ENTRY in st_other
constexpr uint8_t kNewAbi = 8;          // from here on e_flags has the architecture in bits 8-15

// Attributes of .nv.info.KERNEL: format byte, attribute byte, 16 bits of value or of length.
constexpr uint8_t kFormatSized = 4;
constexpr uint8_t kParamCbank = 0x0a;
constexpr uint8_t kKparamInfo = 0x17;
constexpr uint8_t kIndirectBranches = 0x34;
constexpr uint8_t kKparamInfo2 = 0x45;

struct RawParameter {
  uint16_t ordinal = 0;
  Parameter parameter;
};

std::string At(const std::string& place, uint64_t offset) {
  return fmt::format("{}@byte {}", place, offset);
}

class Reader {
 public:
  Reader(std::string_view image, const std::string& place) : place_(place) { cubin_.image = image; }

  Result<Cubin> Read() {
    Result<Elf> elf = ReadElf(cubin_.image, place_);
    if (!elf) return tl::unexpected(elf.error());
    elf_ = std::move(*elf);
    if (elf_.machine != kMachineCuda) {
      return Fail(At(place_, 18), fmt::format("ELF machine {} is not CUDA", elf_.machine),
                  "give a cubin, or a program or library with CUDA code");
    }
    cubin_.arch = elf_.abi_version >= kNewAbi ? elf_.flags >> 8 & 0xff : elf_.flags & 0xff;
    TextSections();
    Symbols();
    if (Result<void> read = Attributes(); !read) return tl::unexpected(read.error());
    Relocations();
    cubin_.shared_key = SharedKey();
    return std::move(cubin_);
  }

 private:
  void TextSections() {
    text_of_.assign(elf_.sections.size(), kNone);
    for (size_t i = 0; i < elf_.sections.size(); ++i) {
      const ElfSection& section = elf_.sections[i];
      if (!section.name.starts_with(".text.") || section.type != SHT_PROGBITS) continue;
      text_of_[i] = static_cast<uint32_t>(cubin_.text.size());
      cubin_.text.push_back(
          {std::string(section.name), section.offset, section.data.size(), false});
    }
  }

  void Symbols() {
    for (size_t i = 0; i < elf_.symbols.size(); ++i) {
      const ElfSymbol& symbol = elf_.symbols[i];
      bool has_text = symbol.section < text_of_.size() && text_of_[symbol.section] != kNone;
      if (symbol.type != STT_FUNC || !has_text) continue;
      uint32_t text = text_of_[symbol.section];
      if (symbol.other & kEntry) {
        KernelInfo kernel;
        kernel.name = std::string(symbol.name);
        kernel.section = text;
        kernel.symbol = static_cast<uint32_t>(i);
        cubin_.kernels.push_back(std::move(kernel));
      } else {
        cubin_.functions.push_back({std::string(symbol.name), text, uint32_t(symbol.value)});
      }
    }
  }

  Result<void> Attributes() {
    constexpr std::string_view kPrefix = ".nv.info.";
    for (const ElfSection& section : elf_.sections) {
      if (!section.name.starts_with(kPrefix)) continue;
      std::string_view name = section.name.substr(kPrefix.size());
      auto kernel = std::find_if(cubin_.kernels.begin(), cubin_.kernels.end(),
                                 [&](const KernelInfo& one) { return one.name == name; });
      if (kernel == cubin_.kernels.end()) continue;
      if (Result<void> read = KernelAttributes(section, *kernel); !read) return read;
    }
    return {};
  }

  Result<void> KernelAttributes(const ElfSection& section, KernelInfo& kernel) {
    std::vector<RawParameter> params;
    for (uint64_t at = 0; at + 4 <= section.data.size();) {
      uint8_t format = section.data[at], attribute = section.data[at + 1];
      uint16_t length = 0;
      ReadAt(section.data, at + 2, &length);
      at += 4;
      if (format != kFormatSized) continue;
      if (section.data.size() - at < length) {
        return Fail(At(place_, section.offset + at),
                    fmt::format("attribute {:#x} of kernel {} runs out of its section", attribute,
                                kernel.name),
                    "the file is damaged");
      }
      OneAttribute(attribute, section.data.substr(at, length), kernel, params);
      at += length;
    }
    FinishParameters(params, kernel);
    return {};
  }

  static void OneAttribute(uint8_t attribute, std::string_view body, KernelInfo& kernel,
                           std::vector<RawParameter>& params) {
    uint16_t base = 0, size = 0, ordinal = 0, offset = 0;
    uint32_t packed = 0;
    if (attribute == kParamCbank && ReadAt(body, 4, &base) && ReadAt(body, 6, &size)) {
      kernel.param_base = base;
      kernel.param_size = size;
    } else if (attribute == kKparamInfo || attribute == kKparamInfo2) {
      if (!ReadAt(body, 4, &ordinal) || !ReadAt(body, 6, &offset)) return;
      // The newer record has no size that is documented; the next parameter's offset bounds it.
      if (attribute == kKparamInfo) ReadAt(body, 8, &packed);
      params.push_back({ordinal, {offset, packed >> 18 & 0x3fff}});
    } else if (attribute == kIndirectBranches) {
      BranchTables(body, kernel);
    }
  }

  // Records of pc, a word of no known use, count, targets.
  static void BranchTables(std::string_view body, KernelInfo& kernel) {
    uint32_t pc = 0, count = 0, target = 0;
    uint64_t at = 0;
    while (ReadAt(body, at, &pc) && ReadAt(body, at + 8, &count)) {
      BranchTable table{pc, {}};
      at += 12;
      for (uint32_t i = 0; i < count && ReadAt(body, at, &target); ++i, at += 4) {
        table.targets.push_back(target);
      }
      kernel.branches.push_back(std::move(table));
    }
  }

  static void FinishParameters(std::vector<RawParameter>& params, KernelInfo& kernel) {
    std::sort(params.begin(), params.end(),
              [](const RawParameter& a, const RawParameter& b) { return a.ordinal < b.ordinal; });
    for (size_t i = 0; i < params.size(); ++i) {
      Parameter one = params[i].parameter;
      uint32_t next = i + 1 < params.size() ? params[i + 1].parameter.offset : kernel.param_size;
      if (!one.size && next > one.offset) one.size = next - one.offset;
      kernel.params.push_back(one);
    }
  }

  void Relocations() {
    for (const ElfSection& section : elf_.sections) {
      if (section.type != SHT_REL && section.type != SHT_RELA) continue;
      if (section.info < text_of_.size() && text_of_[section.info] != kNone &&
          !section.data.empty()) {
        cubin_.text[text_of_[section.info]].relocated = true;
      }
      if (section.name.find(".nv.constant4") != section.name.npos) Addresses(section);
    }
  }

  void Addresses(const ElfSection& section) {
    uint64_t stride = section.type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    Elf64_Rel raw;
    for (uint64_t at = 0; ReadAt(section.data, at, &raw); at += stride) {
      uint64_t symbol = ELF64_R_SYM(raw.r_info);
      if (symbol >= elf_.symbols.size()) continue;
      cubin_.addresses[static_cast<uint32_t>(raw.r_offset)] =
          std::string(elf_.symbols[symbol].name);
    }
  }

  // Functions in the section of a kernel belong to that kernel, whose own hash covers them.
  std::string SharedKey() const {
    Hasher hasher;
    std::vector<bool> done(cubin_.text.size(), false);
    for (const KernelInfo& kernel : cubin_.kernels) done[kernel.section] = true;
    for (const DeviceFunction& function : cubin_.functions) {
      hasher.Number(function.offset);
      if (done[function.section]) continue;
      done[function.section] = true;
      hasher.Text(cubin_.TextOf(cubin_.text[function.section]));
    }
    for (const auto& [offset, symbol] : cubin_.addresses) {
      hasher.Number(offset);
      hasher.Text(symbol);
    }
    return hasher.Hex();
  }

  static constexpr uint32_t kNone = 0xffffffff;
  std::string place_;
  Elf elf_;
  Cubin cubin_;
  std::vector<uint32_t> text_of_;  // ELF section -> Cubin::text
};

}  // namespace

bool IsElf(std::string_view image) { return image.starts_with(ELFMAG); }

Result<Cubin> ReadCubin(std::string_view image, const std::string& place) {
  return Reader(image, place).Read();
}

}  // namespace ss::kernels
