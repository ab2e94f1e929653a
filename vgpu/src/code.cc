#include "code.h"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "objects.h"
#include "vgpu/image.h"

namespace ss::vgpu {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint16_t kMachineCuda = 190;
constexpr uint16_t kKindElf = 2;
constexpr uint8_t kSizedFormat = 4;
constexpr uint8_t kParameterInfo = 0x17;  // EIATTR_KPARAM_INFO
constexpr uint8_t kParameterInfo2 = 0x45;

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// header: magic, version, its size, bytes behind it; entry: kind at 0, header size at 4, stored
// size at 8, packed size (0: not compressed) at 16.
std::string_view FirstCubin(std::string_view fatbin, std::string* error) {
  constexpr size_t kHeader = 16;
  constexpr size_t kLeastEntry = 64;
  const auto bytes = Load<uint64_t>(fatbin.data() + 8);
  if (fatbin.size() - kHeader < bytes) {
    *error = "the file ends before its fat binary does";
    return {};
  }
  for (std::string_view rest = fatbin.substr(kHeader, bytes); rest.size() >= kLeastEntry;) {
    const auto header = Load<uint32_t>(rest.data() + 4);
    const auto stored = Load<uint64_t>(rest.data() + 8);
    if (header > rest.size() || stored > rest.size() - header) break;
    if (Load<uint16_t>(rest.data()) == kKindElf) {
      if (Load<uint32_t>(rest.data() + 16) == 0) return rest.substr(header, stored);
      *error = "the fat binary is compressed (build it with nvcc -no-compress)";
      return {};
    }
    rest.remove_prefix(header + stored);
  }
  *error = "no cubin in the fat binary";
  return {};
}

std::vector<std::pair<uint32_t, uint32_t>> Parameters(const char* at, const char* end) {
  std::map<uint16_t, std::pair<uint32_t, uint32_t>> by_ordinal;
  while (end - at >= 4) {
    const auto format = Load<uint8_t>(at);
    const auto attribute = Load<uint8_t>(at + 1);
    const auto length = Load<uint16_t>(at + 2);
    at += 4;
    if (format != kSizedFormat) continue;
    if (end - at < length) break;
    if ((attribute == kParameterInfo || attribute == kParameterInfo2) && length >= 12) {
      // index, ordinal, offset, then flags with the size in bytes from bit 18 on
      by_ordinal[Load<uint16_t>(at + 4)] = {Load<uint16_t>(at + 6), Load<uint32_t>(at + 8) >> 18};
    }
    at += length;
  }
  std::vector<std::pair<uint32_t, uint32_t>> list;
  for (const auto& [ordinal, place] : by_ordinal) list.push_back(place);
  return list;
}

bool Whole(std::string_view elf) {
  const auto header = Load<Elf64_Ehdr>(elf.data());
  const size_t tables = header.e_shnum * sizeof(Elf64_Shdr);
  if (header.e_shoff > elf.size() || elf.size() - header.e_shoff < tables) return false;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = Load<Elf64_Shdr>(elf.data() + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_NOBITS) continue;
    if (section.sh_offset > elf.size() || elf.size() - section.sh_offset < section.sh_size) {
      return false;
    }
  }
  return true;
}

std::vector<CodeKernel> ReadElf(const char* elf) {
  const auto header = Load<Elf64_Ehdr>(elf);
  const auto section = [&](size_t i) {
    return Load<Elf64_Shdr>(elf + header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const char* names = elf + section(header.e_shstrndx).sh_offset;
  const std::string prefix = ".nv.info.";
  std::map<std::string, std::vector<std::pair<uint32_t, uint32_t>>> parameters;
  std::vector<CodeKernel> kernels;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const std::string name = names + section(i).sh_name;
    const char* data = elf + section(i).sh_offset;
    if (name.starts_with(prefix)) {
      parameters[name.substr(prefix.size())] = Parameters(data, data + section(i).sh_size);
    } else if (name.starts_with(".text.")) {
      kernels.push_back({name.substr(std::strlen(".text.")), {}});
    }
  }
  for (CodeKernel& kernel : kernels) kernel.parameters = parameters[kernel.name];
  return kernels;
}

struct Registered {
  std::mutex mutex;
  std::map<std::string, vgpu_kernel> kernels;
};

// Survives vgpu_restart: host functions belong to the program, not to the device.
Registered& TheRegistered() {
  static Registered registered;
  return registered;
}

bool SameLayout(const vgpu_kernel& kernel, const CodeKernel& code) {
  return kernel.parameter_count == code.parameters.size() &&
         std::equal(code.parameters.begin(), code.parameters.end(), kernel.parameters,
                    [](const auto& one, const vgpu_parameter& other) {
                      return one.first == other.offset && one.second == other.size;
                    });
}

}  // namespace

bool IsCode(const void* image) {
  const auto magic = Load<uint32_t>(static_cast<const char*>(image));
  return magic == kFatbinMagic || std::memcmp(image, ELFMAG, SELFMAG) == 0;
}

bool IsWrapped(const void* image) {
  return Load<uint32_t>(static_cast<const char*>(image)) == kWrapperMagic;
}

std::vector<CodeKernel> ReadCode(const void* image, size_t limit, std::string* error) {
  auto* begin = static_cast<const char*>(image);
  if (Load<uint32_t>(begin) == kWrapperMagic) begin = Load<const char*>(begin + 8);
  std::string_view code(begin, limit);
  if (Load<uint32_t>(begin) == kFatbinMagic) code = FirstCubin(code, error);
  if (!error->empty()) return {};
  *error = "not a cubin";
  if (code.size() < sizeof(Elf64_Ehdr)) return {};
  const auto header = Load<Elf64_Ehdr>(code.data());
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != kMachineCuda ||
      header.e_shstrndx >= header.e_shnum) {
    return {};
  }
  *error = Whole(code) ? "" : "the file ends before its cubin does";
  return error->empty() ? ReadElf(code.data()) : std::vector<CodeKernel>();
}

void ResolveCode(const CodeKernel& kernel, Function* function) {
  Registered& registered = TheRegistered();
  const std::lock_guard lock(registered.mutex);
  const auto found = registered.kernels.find(kernel.name);
  if (found == registered.kernels.end()) return;
  if (SameLayout(found->second, kernel)) {
    function->run = found->second.run;
  } else {
    std::fprintf(stderr, "vgpu: kernel %s: the host function's parameters lie elsewhere\n",
                 kernel.name.c_str());
  }
}

}  // namespace ss::vgpu

extern "C" __attribute__((visibility("default"))) void vgpu_register(const vgpu_kernel* kernels,
                                                                     uint32_t count) {
  auto& registered = ss::vgpu::TheRegistered();
  const std::lock_guard lock(registered.mutex);
  for (uint32_t i = 0; i < count; ++i) registered.kernels[kernels[i].name] = kernels[i];
}
