// Machine code in the trace: what it is, where it lies, which handles stand for it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "src/trace/crc32c.h"
#include "tests/capture/watch.h"

namespace ss::test {
namespace {

using namespace ss::trace;

enum Kind : uint64_t { kUnknown, kElf, kFatbin, kPtx };
constexpr const char* kUnreadable = "machine code that could not be read";

std::string Fixture(const char* name) {
  return std::string(SS_SOURCE_DIR) + "/tests/kernels_e2e/fixtures/" + name;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Canonical(const std::string& path) {
  std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
  return real ? real.get() : "";
}

uint64_t Checksum(const std::string& bytes) {
  size_t size = std::min<size_t>(bytes.size(), 4096);
  return Crc32c(bytes.data() + bytes.size() - size, size, Crc32c(bytes.data(), size));
}

struct Images : Watched {
  std::map<std::string, uint64_t> printed;

  explicit Images(Watched watched) : Watched(std::move(watched)), printed(Printed()) {}

  const Image* Find(uint64_t number) const {
    for (const Record& record : records) {
      auto* image = std::get_if<Image>(&record.body);
      if (image && image->image == number) return image;
    }
    return nullptr;
  }
  // Number of the image that the printed handle stood for last; ~0 without an ImageLoad.
  uint64_t NumberOf(const char* name) const { return NumberOfHandle(printed.at(name)); }
  uint64_t NumberOfHandle(uint64_t handle) const {
    uint64_t number = ~uint64_t{0};
    for (const ImageLoad& load : All<ImageLoad>()) {
      if (load.handle == handle) number = load.image;
    }
    return number;
  }
  const Image* Of(const char* name) const { return Find(NumberOf(name)); }
  // The pieces joined, as far as they come in order.
  std::string Bytes(uint64_t number) const {
    std::string bytes;
    for (const ImageBytes& piece : All<ImageBytes>()) {
      if (piece.image != number) continue;
      EXPECT_EQ(piece.offset, bytes.size());
      bytes += piece.data;
    }
    return bytes;
  }
};

Images OnFakeDriver(const std::string& what, const std::string& option = "") {
  RunOptions options;
  std::string library = std::string(SS_BINARY_DIR) + "/lib";
  options.environment = {"LD_LIBRARY_PATH=" + library + "/fake_driver:" + library};
  if (!option.empty()) options.environment.push_back("STREAMSAN_OPTIONS=" + option);
  std::vector<std::string> command{Program("capture_images"), what, Fixture("kernels_sm90.cubin")};
  Images images(ss::test::Run(command, options));
  EXPECT_EQ(images.status, 0) << images.errors;
  return images;
}

TEST(Images, BytesInMemoryGoOutOnce) {
  Images images = OnFakeDriver("forms");
  std::string cubin = ReadFile(Fixture("kernels_sm90.cubin"));
  const Image* image = images.Of("memory");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, kElf);
  EXPECT_EQ(image->path, "");
  EXPECT_EQ(image->bytes, cubin.size());
  EXPECT_EQ(image->checksum, Checksum(cubin));
  EXPECT_EQ(images.Bytes(image->image), cubin);
  for (const char* same : {"copy", "extended", "handle_again"}) {
    EXPECT_EQ(images.NumberOf(same), image->image) << same;
  }
}

TEST(Images, ConstantsOfAProgramAreAPlaceInItsFile) {
  Images images = OnFakeDriver("forms");
  std::string cubin = ReadFile(Fixture("kernels_sm90.cubin"));
  const Image* image = images.Of("embedded");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, kElf);
  EXPECT_EQ(image->path, Canonical(Program("capture_images")));
  EXPECT_EQ(ReadFile(image->path).substr(image->offset, image->bytes), cubin);
  EXPECT_EQ(image->checksum, Checksum(cubin));
  EXPECT_EQ(images.Bytes(image->image), "");
  EXPECT_EQ(images.NumberOf("embedded_again"), image->image);
}

TEST(Images, WhatAProgramCanWriteIsCopied) {
  Images images = OnFakeDriver("forms");
  std::string changed = ReadFile(Fixture("kernels_sm90.cubin"));
  changed[changed.size() / 2] ^= 1;
  const Image* image = images.Of("writable");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->path, "");
  EXPECT_EQ(images.Bytes(image->image), changed);
}

TEST(Images, FatBinariesAndTheirWrappers) {
  Images images = OnFakeDriver("forms");
  std::string cubin = ReadFile(Fixture("kernels_sm90.cubin"));
  const Image* image = images.Of("fatbin");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, kFatbin);
  EXPECT_EQ(image->bytes, 16 + cubin.size());
  EXPECT_EQ(images.Bytes(image->image).substr(16), cubin);
  EXPECT_EQ(images.NumberOf("wrapper"), image->image);
}

TEST(Images, PtxEndsAtItsNul) {
  Images images = OnFakeDriver("forms");
  const Image* image = images.Of("ptx");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, kPtx);
  std::string text = images.Bytes(image->image);
  EXPECT_EQ(text.substr(0, 12), "//\n// Genera");
  EXPECT_EQ(text.substr(text.size() - 7), "ret; }\n");
  EXPECT_EQ(image->bytes, text.size());
}

TEST(Images, UnknownOnesAreImageZeroAndFailedLoadsNone) {
  Images images = OnFakeDriver("forms");
  EXPECT_EQ(images.NumberOf("unknown"), 0u);
  EXPECT_EQ(images.printed.at("failing"), 0u);
  EXPECT_EQ(images.NumberOfHandle(0), ~uint64_t{0});
  EXPECT_EQ(images.Unmodelled().count(kUnreadable), 0u);
}

TEST(Images, AHandleThatComesBackStandsForWhatItWasGivenFor) {
  Images images = OnFakeDriver("forms");
  ASSERT_EQ(images.printed.at("handle_again"), images.printed.at("fat_binary"));
  std::vector<uint64_t> stood_for;
  for (const ImageLoad& load : images.All<ImageLoad>()) {
    if (load.handle == images.printed.at("handle_again")) stood_for.push_back(load.image);
  }
  EXPECT_EQ(stood_for,
            (std::vector<uint64_t>{images.NumberOf("fatbin"), images.NumberOf("memory")}));
}

TEST(Images, ComeBeforeTheirLoads) {
  Images images = OnFakeDriver("forms");
  std::map<uint64_t, bool> known{{0, true}};
  std::map<uint64_t, uint64_t> missing;
  for (const Record& record : images.records) {
    if (auto* image = std::get_if<Image>(&record.body)) {
      known[image->image] = true;
      if (image->path.empty()) missing[image->image] = image->bytes;
    }
    if (auto* piece = std::get_if<ImageBytes>(&record.body)) {
      missing[piece->image] -= piece->data.size();
    }
    auto* load = std::get_if<ImageLoad>(&record.body);
    if (!load) continue;
    EXPECT_TRUE(known[load->image]) << load->image;
    EXPECT_EQ(missing[load->image], 0u) << load->image;
  }
}

TEST(Images, FilesAreNamed) {
  Images images = OnFakeDriver("files");
  std::string path = Fixture("kernels_sm90.cubin");
  const Image* image = images.Of("file");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->kind, kElf);
  EXPECT_EQ(image->path, Canonical(path));
  EXPECT_EQ(image->offset, 0u);
  EXPECT_EQ(image->bytes, ReadFile(path).size());
  EXPECT_EQ(image->checksum, Checksum(ReadFile(path)));
  EXPECT_EQ(images.NumberOf("library_file"), image->image);
  ASSERT_TRUE(images.Of("library_data"));
  EXPECT_EQ(images.Of("library_data")->path, Canonical(Program("capture_images")));
  EXPECT_EQ(images.NumberOf("no_file"), 0u);
  EXPECT_EQ(images.Unmodelled()[kUnreadable], 1u);
}

TEST(Images, VariablesOfModulesAreMemory) {
  Images images = OnFakeDriver("files");
  const std::vector<Alloc> variables = images.All<Alloc>();
  ASSERT_EQ(variables.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(variables[i].address, 0x7f0012345600u);
    EXPECT_EQ(variables[i].bytes, 96u);
    EXPECT_EQ(variables[i].kind, 7u);
  }
  EXPECT_EQ(variables[3].kind, 8u);
  EXPECT_EQ(variables[3].bytes, 32u);
}

TEST(Images, DamagedOnesAreCountedAndHarmNobody) {
  Images images = OnFakeDriver("damaged");
  const char* counted[] = {"cut_header",   "cut_tables",  "cut_end",     "wild_tables",
                           "wild_section", "long_fatbin", "wild_fatbin", "wild_wrapper",
                           "no_pointer",   "no_memory"};
  for (const char* name : counted) EXPECT_EQ(images.NumberOf(name), 0u) << name;
  EXPECT_EQ(images.NumberOf("endless_ptx"), 0u);
  EXPECT_EQ(images.Unmodelled()[kUnreadable], std::size(counted));
  EXPECT_TRUE(images.All<Image>().empty());
  EXPECT_TRUE(images.All<ImageBytes>().empty());
}

TEST(Images, TheSameEndsAreNotTheSameImage) {
  Images images = OnFakeDriver("tuned");
  EXPECT_EQ(images.All<Image>().size(), 3u);
  std::vector<ImageLoad> loads = images.All<ImageLoad>();
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_EQ(images.Find(loads[0].image)->checksum, images.Find(loads[1].image)->checksum);
  EXPECT_NE(images.Bytes(loads[0].image), images.Bytes(loads[1].image));
}

TEST(Images, ThousandsArriveThroughASmallRing) {
  Images images = OnFakeDriver("many", "ring_mb=1");
  std::map<uint64_t, uint64_t> missing;
  for (const Image& image : images.All<Image>()) missing[image.image] = image.bytes;
  EXPECT_EQ(missing.size(), 2000u);
  for (const ImageBytes& piece : images.All<ImageBytes>())
    missing[piece.image] -= piece.data.size();
  for (auto [image, bytes] : missing) EXPECT_EQ(bytes, 0u) << image;
  ASSERT_EQ(images.ended.size(), 1u);
  EXPECT_EQ(images.ended[0].dropped, 0u);
}

TEST(TensorMaps, CoverTheirTensor) {
  Images images = OnFakeDriver("tensor_maps");
  std::vector<TensorMap> maps = images.All<TensorMap>();
  ASSERT_EQ(maps.size(), 7u);
  // 64 x 10 x 3 elements, rows 256 bytes apart, planes 4096.
  EXPECT_EQ(maps[0].first_word, images.printed.at("tiled"));
  EXPECT_EQ(maps[0].address, 0x7f0000001000u);
  EXPECT_EQ(maps[0].bytes, 2u * 4096 + 9 * 256 + 64 * 2);
  EXPECT_EQ(maps[1].first_word, images.printed.at("replaced"));
  EXPECT_EQ(maps[1].address, 0x7f0000002000u);
  EXPECT_EQ(maps[1].bytes, maps[0].bytes);
  EXPECT_EQ(maps[2].bytes, 64u * 8);    // one dimension
  EXPECT_EQ(maps[3].bytes, 3u * 4096);  // interleaved: up to the end of the last plane
  EXPECT_EQ(maps[4].bytes, 2u * 4096 + 9 * 256 + 64 * 4);  // im2col
  EXPECT_EQ(maps[5].bytes, 0u);                            // a type of the future
  EXPECT_EQ(maps[6].bytes, 0u);                            // not encoded here
  EXPECT_EQ(images.Unmodelled()["tensor map of unknown extent"], 2u);
}

// Handles come back: each launch must lead to what was loaded when it was made.
class Reload : public testing::TestWithParam<const char*> {};

TEST_P(Reload, LaunchesLeadToWhatWasLoadedLast) {
  Images images(ss::test::Run({Program("kernels_e2e"), "reload", GetParam(),
                               Fixture("kernels_sm90.cubin"), Fixture("kernels_sm90.fatbin")}));
  ASSERT_EQ(images.status, 0) << images.errors;
  std::map<uint64_t, uint64_t> image_of;   // by module
  std::map<uint64_t, uint64_t> module_of;  // by function
  std::map<uint64_t, uint64_t> kind_of;    // by image
  std::vector<uint64_t> kinds;
  for (const Record& record : images.records) {
    if (auto* image = std::get_if<Image>(&record.body)) kind_of[image->image] = image->kind;
    if (auto* load = std::get_if<ImageLoad>(&record.body)) image_of[load->handle] = load->image;
    if (auto* function = std::get_if<Function>(&record.body)) {
      module_of[function->function] = function->module;
    }
    auto* launch = std::get_if<Launch>(&record.body);
    if (launch) kinds.push_back(kind_of[image_of[module_of[launch->function]]]);
  }
  EXPECT_EQ(kinds, (std::vector<uint64_t>{kElf, kElf, kFatbin, kFatbin}));
  EXPECT_EQ(images.All<Function>().size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(All, Reload,
                         testing::Values("memory", "file", "library", "kernel", "library-module"),
                         [](const auto& info) { return "way" + std::to_string(info.index); });

// --- the whole way on the virtual GPU: real machine code, launched

struct Way {
  const char* name;
  const char* file;
  uint64_t kind;
};

class EndToEnd : public testing::TestWithParam<Way> {};

TEST_P(EndToEnd, EveryLaunchLeadsToItsImage) {
  const Way& way = GetParam();
  Images images(ss::test::Run({Program("kernels_e2e"), "fixed", way.name, Fixture(way.file)}, {}));
  ASSERT_EQ(images.status, 0) << images.errors;
  EXPECT_EQ(images.printed.at("result"), 2u);
  std::vector<Function> functions = images.All<Function>();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(images.Text(functions[0].text_id), "fill");
  EXPECT_EQ(functions[0].parameters, (std::vector<uint64_t>{0, 8, 8, 4, 12, 4}));
  for (const Function& function : functions) {
    const Image* image = images.Find(images.NumberOfHandle(function.module));
    ASSERT_TRUE(image) << std::hex << function.module;
    EXPECT_EQ(image->kind, way.kind);
    std::string bytes = image->path.empty()
                            ? images.Bytes(image->image)
                            : ReadFile(image->path).substr(image->offset, image->bytes);
    EXPECT_EQ(bytes, ReadFile(Fixture(way.file)));
  }
  ASSERT_EQ(images.All<Launch>().size(), 2u);
  EXPECT_EQ(images.All<Launch>()[0].words, (std::vector<uint64_t>{0, images.printed.at("shared")}));
  EXPECT_EQ(images.All<Launch>()[1].words,
            (std::vector<uint64_t>{0, images.printed.at("shared"), 8, images.printed.at("first")}));
  EXPECT_EQ(images.All<Image>().size(), 1u);
  EXPECT_EQ(images.All<ContextCreate>()[0].arch, 90u);
}

INSTANTIATE_TEST_SUITE_P(All, EndToEnd,
                         testing::Values(Way{"embedded", "kernels_sm90.cubin", kElf},
                                         Way{"memory", "kernels_sm90.cubin", kElf},
                                         Way{"memory", "kernels_sm90.fatbin", kFatbin},
                                         Way{"file", "kernels_sm90.cubin", kElf},
                                         Way{"library", "kernels_sm90.cubin", kElf},
                                         Way{"library", "kernels_sm90.fatbin", kFatbin},
                                         Way{"kernel", "kernels_sm90.cubin", kElf},
                                         Way{"library-module", "kernels_sm90.cubin", kElf}),
                         [](const auto& info) { return "way" + std::to_string(info.index); });

}  // namespace
}  // namespace ss::test
