// Machine code in every form and in bad shape, given to a driver that takes anything. argv[1] says
// what; argv[2] is a cubin.
#include <cuda.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" const char kernels_cubin[];  // tests/kernels_e2e/embedded.S

namespace {

constexpr size_t kPage = 4096;

std::vector<char> g_cubin;
char g_writable[1 << 16] = {1};  // in .data: may differ from the file

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* fatbin;
  void* fatbins;
};

void Load(const char* name, const void* image) {
  CUmodule module = nullptr;
  CUresult result = cuModuleLoadData(&module, image);
  printf("%s %p\n", name, result == CUDA_SUCCESS ? static_cast<void*>(module) : nullptr);
}

// Room for `bytes` that ends where unmapped memory begins.
char* AtTheEdge(size_t bytes) {
  size_t pages = (bytes + kPage - 1) / kPage;
  void* memory = mmap(nullptr, (pages + 1) * kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(5);
  munmap(static_cast<char*>(memory) + pages * kPage, kPage);
  return static_cast<char*>(memory) + pages * kPage - bytes;
}

char* AtTheEdge(const void* data, size_t bytes) {
  return static_cast<char*>(memcpy(AtTheEdge(bytes), data, bytes));
}

// `body` bytes of code between the same ends, as a compiler that tunes a constant makes them.
std::vector<char> Cubin(size_t body, char filling) {
  std::vector<char> image(sizeof(Elf64_Ehdr) + body + 4 * kPage, 0);
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190;
  header.e_phoff = image.size() - sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  memcpy(image.data(), &header, sizeof header);
  memset(image.data() + sizeof header + 2 * kPage, filling, body);
  return image;
}

std::vector<char> Fatbin(const std::vector<char>& content, uint64_t claimed) {
  std::vector<char> image(16 + content.size());
  uint32_t magic = 0xba55ed50;
  uint16_t version[2] = {1, 16};
  memcpy(image.data(), &magic, 4);
  memcpy(image.data() + 4, version, 4);
  memcpy(image.data() + 8, &claimed, 8);
  memcpy(image.data() + 16, content.data(), content.size());
  return image;
}

void Forms() {
  std::vector<char> copy = g_cubin;
  Load("memory", g_cubin.data());
  Load("copy", copy.data());
  Load("embedded", kernels_cubin);
  Load("embedded_again", kernels_cubin);
  memcpy(g_writable, g_cubin.data(), g_cubin.size());
  g_writable[g_cubin.size() / 2] ^= 1;
  Load("writable", g_writable);
  std::vector<char> fatbin = Fatbin(g_cubin, g_cubin.size());
  Wrapper wrapper{0x466243b1, 1, fatbin.data(), nullptr};
  Load("fatbin", fatbin.data());
  Load("wrapper", &wrapper);
  const char ptx[] =
      "//\n// Generated\n.version 8.0\n.target sm_90\n.visible .entry f() { ret; }\n";
  Load("ptx", AtTheEdge(ptx, sizeof ptx));
  Load("unknown", "SOMETHING ELSE");
  CUmodule module = nullptr;
  cuModuleLoadDataEx(&module, copy.data(), 0, nullptr, nullptr);
  printf("extended %p\n", static_cast<void*>(module));
  cuModuleLoadFatBinary(&module, fatbin.data());
  printf("fat_binary %p\n", static_cast<void*>(module));
  cuModuleUnload(module);
  Load("handle_again", copy.data());
  Load("failing", "FAIL");
}

void Files(const char* path) {
  CUmodule module = nullptr;
  cuModuleLoad(&module, path);
  printf("file %p\n", static_cast<void*>(module));
  CUlibrary library = nullptr;
  cuLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
  printf("library_file %p\n", static_cast<void*>(library));
  cuLibraryLoadData(&library, kernels_cubin, nullptr, nullptr, 0, nullptr, nullptr, 0);
  printf("library_data %p\n", static_cast<void*>(library));
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  cuModuleGetGlobal(&variable, &bytes, module, "table");
  cuModuleGetGlobal(nullptr, &bytes, module, "table");
  cuModuleGetGlobal(&variable, nullptr, module, "table");
  cuModuleGetGlobal(&variable, &bytes, module, "missing");
  cuLibraryGetManaged(&variable, &bytes, library, "shared");
  cuModuleLoad(&module, "/nonexistent");  // the fake driver takes it
  printf("no_file %p\n", static_cast<void*>(module));
}

// None of these can be read to its end.
void Damaged() {
  Elf64_Ehdr header;
  memcpy(&header, g_cubin.data(), sizeof header);
  Load("cut_header", AtTheEdge(&header, sizeof header - 1));
  Load("cut_tables", AtTheEdge(&header, sizeof header));
  Load("cut_end", AtTheEdge(g_cubin.data(), g_cubin.size() - 1));
  header.e_shoff = ~uint64_t{0} - 8;
  std::vector<char> wild = g_cubin;
  memcpy(wild.data(), &header, sizeof header);
  Load("wild_tables", wild.data());
  header.e_shoff = sizeof header;
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = ~uint64_t{0} - 16;
  section.sh_size = 64;
  header.e_shnum = 1;
  memcpy(wild.data(), &header, sizeof header);
  memcpy(wild.data() + sizeof header, &section, sizeof section);
  Load("wild_section", wild.data());
  std::vector<char> fatbin = Fatbin(g_cubin, uint64_t{3} << 30);
  Load("long_fatbin", AtTheEdge(fatbin.data(), fatbin.size()));
  fatbin = Fatbin(g_cubin, ~uint64_t{0});
  Load("wild_fatbin", fatbin.data());
  Wrapper wrapper{0x466243b1, 1, reinterpret_cast<void*>(16), nullptr};
  Load("wild_wrapper", &wrapper);
  Load("no_pointer", nullptr);
  Load("no_memory", reinterpret_cast<void*>(8));
  Load("endless_ptx", AtTheEdge(".version 8.0", 12));
}

// Cubins that a tuner makes: the same buffer, the same ends, another middle.
void Tuned(unsigned count, size_t body) {
  for (unsigned i = 0; i < count; ++i) {
    std::vector<char> image = Cubin(body, 0);
    memcpy(image.data() + sizeof(Elf64_Ehdr) + 3 * kPage, &i, sizeof i);
    CUmodule module;
    cuModuleLoadData(&module, image.data());
  }
}

void ShowMap(const char* name, const CUtensorMap& map) {
  uint64_t word;
  memcpy(&word, &map, sizeof word);
  printf("%s 0x%llx\n", name, static_cast<unsigned long long>(word));
}

void TensorMaps() {
  alignas(64) CUtensorMap map{};
  auto* base = reinterpret_cast<void*>(0x7f0000001000);
  cuuint64_t dims[] = {64, 10, 3};
  cuuint64_t strides[] = {256, 4096};
  cuuint32_t box[] = {64, 1, 1};
  cuuint32_t steps[] = {1, 1, 1};
  auto tiled = [&](CUtensorMapDataType type, unsigned rank, CUtensorMapInterleave interleave) {
    cuTensorMapEncodeTiled(&map, type, rank, base, dims, strides, box, steps, interleave,
                           CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  tiled(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, CU_TENSOR_MAP_INTERLEAVE_NONE);
  ShowMap("tiled", map);
  cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(0x7f0000002000));
  ShowMap("replaced", map);
  tiled(CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 1, CU_TENSOR_MAP_INTERLEAVE_NONE);
  tiled(CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, CU_TENSOR_MAP_INTERLEAVE_16B);
  int corner[] = {0};
  cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, base, dims, strides, corner,
                          corner, 64, 8, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                          CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  tiled(static_cast<CUtensorMapDataType>(99), 3, CU_TENSOR_MAP_INTERLEAVE_NONE);
  CUtensorMap other{};
  cuTensorMapReplaceAddress(&other, base);  // nobody saw it being made
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (argc > 2) {
    std::ifstream file(argv[2], std::ios::binary);
    g_cubin.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (cuInit(0) != CUDA_SUCCESS) return 3;
  if (what == "forms") Forms();
  if (what == "files") Files(argv[2]);
  if (what == "damaged") Damaged();
  if (what == "tuned") Tuned(3, 4 * kPage);
  if (what == "many") Tuned(2000, 8 * kPage);
  if (what == "tensor_maps") TensorMaps();
  return 0;
}
