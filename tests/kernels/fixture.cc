#include "tests/kernels/fixture.h"

#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace ss::kernels {
namespace {

[[noreturn]] void Die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

}  // namespace

std::string FixturePath(const std::string& file) {
  return std::string(SS_SOURCE_DIR) + "/tests/kernels/fixtures/" + file;
}

std::string ReadTestFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Unpack(const std::string& compressed) {
  unsigned long long size = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return "";
  std::string out(size, '\0');
  size_t got = ZSTD_decompress(out.data(), out.size(), compressed.data(), compressed.size());
  return ZSTD_isError(got) ? "" : out;
}

std::unique_ptr<Fixture> LoadFixture(const std::string& set, int arch) {
  auto fixture = std::make_unique<Fixture>();
  fixture->name = set + "_sm" + std::to_string(arch);
  fixture->image = Unpack(ReadTestFile(FixturePath(fixture->name + ".cubin.zst")));
  fixture->text = std::make_shared<const std::string>(
      Unpack(ReadTestFile(FixturePath(fixture->name + ".sass.zst"))));
  Result<Cubin> cubin = ReadCubin(fixture->image, fixture->name);
  if (!cubin) Die(cubin.error().Text());
  Result<Code> code = ParseElfText(fixture->text, fixture->name);
  if (!code) Die(code.error().Text());
  fixture->cubin = std::move(*cubin);
  fixture->code = std::move(*code);
  return fixture;
}

}  // namespace ss::kernels
