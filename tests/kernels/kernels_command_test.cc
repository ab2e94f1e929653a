// `streamsan kernels` on cubins, fat binaries and libraries, with a stand-in for the disassembler
// that prints the committed text; what docs/kernels.md shows is what it prints.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.h"
#include "tests/kernels/fixture.h"

namespace ss::kernels {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Command : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/ss_kernels_XXXXXX";
    folder_ = mkdtemp(folder);
    Put("basic.cubin", Unpacked("basic_sm90.cubin.zst"));
    Put("text.elf", Unpacked("basic_sm90.sass.zst"));
    Put("text.raw", Unpacked("basic_sm90.raw.zst"));
    Put("nvdisasm",
        "#!/bin/sh\ncd '" + folder_ +
            "'\necho \"$1\" >>calls\ncase $1 in -c) cat text.elf ;; *) cat text.raw ;; esac\n");
    fs::permissions(folder_ + "/nvdisasm", fs::perms::owner_all);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string Unpacked(const std::string& fixture) {
    return Unpack(ReadTestFile(FixturePath(fixture)));
  }
  void Put(const std::string& name, const std::string& bytes) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  Ran Kernels(std::vector<std::string> arguments, std::string disassembler = "") {
    arguments.insert(arguments.begin(), {SS_BINARY_DIR "/bin/streamsan", "kernels"});
    if (disassembler.empty()) disassembler = Path("nvdisasm");
    Environment environment = {{"STREAMSAN_NVDISASM", disassembler},
                               {"STREAMSAN_CACHE", Path("cache")}};
    return Child(arguments, environment).Wait();
  }
  size_t Calls() const {
    std::string calls = ReadFile(Path("calls"));
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), '\n'));
  }

  std::string folder_;
};

// Of the process whose number the file holds; "" = it is gone.
std::string StateOf(const std::string& file) {
  std::string pid, name, state;
  std::istringstream(ReadFile(file)) >> pid;
  std::istringstream(ReadFile("/proc/" + pid + "/stat")) >> pid >> name >> state;
  return state == "Z" ? "" : state;
}

// A disassembler that hangs, and what it started.
TEST_F(Command, WaitingForTheDisassemblerIsSaidAndCanBeInterrupted) {
  Put("hangs", "#!/bin/sh\nsleep 1000 &\necho $! >'" + Path("pid") + "'\nwait\n");
  fs::permissions(Path("hangs"), fs::perms::owner_all);
  Child child({SS_BINARY_DIR "/bin/streamsan", "kernels", "--no-cache", Path("basic.cubin")},
              {{"STREAMSAN_NVDISASM", Path("hangs")}});
  const std::string said = "streamsan: waits for " + Path("hangs") + ", for 5 s so far";
  for (int i = 0; i < 600 && !Has(child.err(), said); ++i) usleep(100'000);
  EXPECT_TRUE(Has(child.err(), said)) << child.err();
  EXPECT_NE(StateOf(Path("pid")), "");
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().code, 128 + SIGINT);
  for (int i = 0; i < 600 && !StateOf(Path("pid")).empty(); ++i) usleep(100'000);
  EXPECT_EQ(StateOf(Path("pid")), "");
}

Json KernelOf(const Json& json, const std::string& name) {
  for (const Json& one : json.at("kernels")) {
    if (one.at("name") == name) return one;
  }
  return nullptr;
}

// The block of docs/kernels.md that begins with "```" and `kind`.
std::string Example(const std::string& kind) {
  std::string text = ReadFile(SS_SOURCE_DIR "/docs/kernels.md"), open = "```" + kind + "\n";
  size_t begin = text.find(open);
  if (begin == std::string::npos) return "";
  begin += open.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST_F(Command, TextAsDocumented) {
  Ran ran = Kernels({Path("basic.cubin")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::string example = Example("text kernels");
  ASSERT_FALSE(example.empty());
  size_t blocks = 0;
  for (size_t at = 0; at < example.size(); ++blocks) {  // blocks are apart by an empty line
    size_t end = std::min(example.find("\n\n", at), example.size() - 1);
    std::string block = example.substr(at, end + 1 - at);
    EXPECT_NE(ran.out.find(block), std::string::npos) << block << "\nis not in\n" << ran.out;
    at = end + 2;
  }
  EXPECT_GE(blocks, 4u);
}

TEST_F(Command, JsonAsDocumented) {
  Ran ran = Kernels({"--format", "json", Path("basic.cubin")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  Json json = Json::parse(ran.out), example = Json::parse(Example("json kernel"));
  EXPECT_EQ(KernelOf(json, example.at("name")), example);
  EXPECT_EQ(json.at("kernels").size(), 61u);
  EXPECT_TRUE(json.at("notes").is_array());
}

TEST_F(Command, EveryKeyIsDocumented) {
  std::set<std::string> keys;
  Json json = Json::parse(Kernels({"--format", "json", Path("basic.cubin")}).out);
  auto take = [&](const Json& object) {
    for (const auto& [key, value] : object.items()) keys.insert(key);
  };
  take(json);
  for (const Json& kernel : json.at("kernels")) {
    take(kernel);
    for (const Json& access : kernel.at("accesses")) take(access);
  }
  for (const char* rare : {"stride", "symbol", "polled", "ambiguous"})
    EXPECT_TRUE(keys.count(rare));
  std::string page = ReadFile(SS_SOURCE_DIR "/docs/kernels.md");
  for (const std::string& key : keys) {
    EXPECT_NE(page.find("| `" + key + "` |"), std::string::npos) << key;
  }
}

TEST_F(Command, TheSecondTimeNothingIsDisassembled) {
  Ran first = Kernels({Path("basic.cubin")});
  EXPECT_EQ(Calls(), 1u);
  Ran second = Kernels({Path("basic.cubin")});
  EXPECT_EQ(Calls(), 1u);
  EXPECT_EQ(first.out, second.out);
  Kernels({"--no-cache", Path("basic.cubin")});
  EXPECT_EQ(Calls(), 2u);
}

TEST_F(Command, WithoutADisassemblerEveryKernelIsUnresolvedAndSaysWhy) {
  Ran ran = Kernels({"--format", "json", Path("basic.cubin")}, "/nonexistent/nvdisasm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const Json& kernel : Json::parse(ran.out).at("kernels")) {
    EXPECT_FALSE(kernel.at("resolved").get<bool>());
    EXPECT_TRUE(Has(kernel.at("flags").dump(), "STREAMSAN_NVDISASM")) << kernel;
  }
  EXPECT_EQ(Calls(), 0u);
  // And that is not remembered.
  EXPECT_TRUE(Has(Kernels({Path("basic.cubin")}).out, "61 kernels, 60 resolved"));
}

TEST_F(Command, FatBinariesAndLibraries) {
  for (const std::string& path : {FixturePath("small_zstd.fatbin"), FixturePath("small_lz4.fatbin"),
                                  std::string(SS_FAT_LIBRARY)}) {
    Ran ran = Kernels({path}, "/nonexistent/nvdisasm");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(Has(ran.out, "add_one  sm_80  3 parameters")) << ran.out;
    EXPECT_TRUE(Has(ran.out, "PTX for compute_90")) << ran.out;
  }
}

TEST_F(Command, DamagedAndForeignFilesAreErrorsWithAPlace) {
  std::string cubin = Unpacked("basic_sm90.cubin.zst");
  Put("half.cubin", cubin.substr(0, cubin.size() / 2));
  Put("words.txt", "hello\n");
  Put("empty", "");
  Ran half = Kernels({Path("half.cubin")});
  EXPECT_EQ(half.code, 2);
  EXPECT_TRUE(Has(half.err, "half.cubin@byte ")) << half.err;
  Ran words = Kernels({Path("words.txt")});
  EXPECT_EQ(words.code, 2);
  EXPECT_TRUE(Has(words.err, "words.txt: no CUDA machine code in it")) << words.err;
  EXPECT_EQ(Kernels({Path("empty")}).code, 2);
  EXPECT_EQ(Kernels({Path("absent")}).code, 2);
  EXPECT_EQ(Kernels({}).code, 2);
}

// A disassembler that dies, or prints what nobody understands.
TEST_F(Command, AFailingDisassemblerLeavesKernelsUnresolved) {
  Put("text.raw", "nothing of use\n");
  Ran useless = Kernels({Path("basic.cubin")});
  EXPECT_EQ(useless.code, 0);
  EXPECT_TRUE(Has(useless.out, "61 kernels, 0 resolved")) << useless.out;
  EXPECT_TRUE(Has(useless.out, "no instruction in the disassembly")) << useless.out;
  Put("nvdisasm", "#!/bin/sh\necho out of order >&2\nexit 7\n");
  Ran failing = Kernels({Path("basic.cubin")});
  EXPECT_EQ(failing.code, 0);
  EXPECT_TRUE(Has(failing.out, "out of order")) << failing.out;
}

}  // namespace
}  // namespace ss::kernels
