// `streamsan pipeline watch` without a GPU: the program is a script that leaves the recording which
// the library inside a real one would, hangs like one, or leaves none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/pipeline/check.h"
#include "tests/cli/process.h"
#include "tests/pipeline/recorder.h"

namespace ss {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using pipeline::RecordRun;

constexpr char kTool[] = SS_BINARY_DIR "/bin/streamsan";

class PipelineWatch : public testing::Test {
 protected:
  PipelineWatch() {
    char folder[] = "/tmp/ss_watch_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~PipelineWatch() override { fs::remove_all(folder_); }

  // A recording of incident 4, or of its fixed form; one that hangs where that is asked for. An odd
  // number of chunks may hang, an even one does not.
  std::string Recording(bool stray, bool hangs) {
    const std::string chunks = stray && !hangs ? "2" : "3";
    const std::string text =
        std::string("pipeline o_store stages 1 producers CG1 consumers EPI\n") +
        "role CG0 warps 4 { delay" + (stray ? "; tail o_store" : "") + " }\n" +
        "role CG1 warps 4 { for " + chunks +
        " { acquire o_store; write o_store; commit o_store }; tail o_store "
        "}\n"
        "role EPI { for " +
        chunks + " { wait o_store; read o_store; release o_store } }\n";
    Result<pipeline::Protocol> protocol = pipeline::ParseProtocol(text, "test.pipe");
    const pipeline::Program program = pipeline::Lower(*protocol);
    for (uint64_t seed = 1; seed < 500; ++seed) {
      pipeline::RecordedRun run = RecordRun(program, {seed, 2, true});
      if (run.stuck == hangs) return Save("run.sslog", run.log);
    }
    ADD_FAILURE() << "no such run";
    return "";
  }

  std::string Save(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  // The program: `script` as sh reads it, with the recording in $1.
  Ran Watch(const std::string& script, const std::string& recording,
            std::vector<std::string> options = {}) {
    std::vector<std::string> words = {kTool, "pipeline", "watch"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", script, "sh", recording});
    return Child(words,
                 {{"STREAMSAN_PIPELINE_LIBRARY", kTool}, {"STREAMSAN_SANITIZER_LIBRARY", kTool}})
        .Wait();
  }

  std::string folder_;
};

constexpr char kLeave[] = "cp \"$1\" \"$STREAMSAN_PIPELINE_LOG/pipeline-1.sslog\"; exit 5";
constexpr char kHang[] =
    "cp \"$1\" \"$STREAMSAN_PIPELINE_LOG/pipeline-1.sslog\"; : > "
    "\"$STREAMSAN_PIPELINE_LOG/pipeline-1.hung\"; exec sleep 60";

TEST_F(PipelineWatch, ReportsTheStrayTailOfARunThatCompleted) {
  const Ran ran = Watch(kLeave, Recording(true, false));
  EXPECT_EQ(ran.code, 66) << ran.err;
  EXPECT_NE(ran.err.find("StreamSan: pipeline-owner  error, certain  H1"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("Warps 0-3 wait on the empty side"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("1 hazard: 1 kernel with mbarriers"), std::string::npos) << ran.err;
}

TEST_F(PipelineWatch, EndsAProgramWhoseKernelHangs) {
  const Ran ran = Watch(kHang, Recording(true, true));
  EXPECT_EQ(ran.code, 66) << ran.err;
  EXPECT_NE(ran.err.find("its kernels stopped moving; the program was ended"), std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("StreamSan: pipeline-deadlock"), std::string::npos) << ran.err;
}

TEST_F(PipelineWatch, IsSilentOnTheFixedOneAndReturnsTheProgramsCode) {
  const Ran ran = Watch(kLeave, Recording(false, false));
  EXPECT_EQ(ran.code, 5) << ran.err;
  EXPECT_EQ(ran.err.find("StreamSan:"), std::string::npos) << ran.err;
  EXPECT_NE(
      ran.err.find("  0x400 / 0x408  warps 4-7 -> warp 8: filled 6 times, released 6 times\n"),
      std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("Coverage: every launch and block."), std::string::npos) << ran.err;
}

TEST_F(PipelineWatch, KeepsTheRecordingsWhereAsked) {
  const std::string kept = folder_ + "/kept";
  EXPECT_EQ(Watch(kLeave, Recording(true, false), {"-o", kept}).code, 66);
  const Ran again = Child({kTool, "pipeline", "check", "--format", "json", kept}).Wait();
  EXPECT_EQ(again.code, 66) << again.err;
  const Json root = Json::parse(again.err);
  EXPECT_EQ(root["schema"], 1);
  EXPECT_EQ(root["hazards"][0]["code"], "pipeline-owner");
  EXPECT_EQ(root["hazards"][0]["first"]["lane"], "warps 0-3");
  EXPECT_EQ(root["kernels"][0]["pairs"][0]["producers"], Json::parse(R"(["warps 4-7"])"));
  EXPECT_TRUE(root["coverage"]["complete"].get<bool>());
  const Ran refused = Watch(kLeave, Recording(true, false), {"-o", kept});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("holds recordings of an earlier run"), std::string::npos)
      << refused.err;
}

TEST_F(PipelineWatch, ReportsAsSarif) {
  const Ran ran = Watch(kLeave, Recording(true, false), {"--format", "sarif"});
  EXPECT_EQ(ran.code, 66) << ran.err;
  const Json run = Json::parse(ran.err)["runs"][0];
  ASSERT_EQ(run["results"].size(), 1U);
  const Json& owner = run["results"][0];
  EXPECT_EQ(owner["ruleId"], "pipeline-owner");
  EXPECT_EQ(owner["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "kernel");
  EXPECT_EQ(owner["properties"]["role"], "warps 0-3");
  EXPECT_EQ(owner["rank"], 100);
  EXPECT_EQ(run["invocations"][0]["toolExecutionNotifications"].size(), 1U);
}

TEST_F(PipelineWatch, SaysWhatIsMissing) {
  const Ran nothing = Watch("exit 0", "");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_NE(nothing.err.find("no process of it was watched"), std::string::npos) << nothing.err;

  const Ran library = Child({kTool, "pipeline", "watch", "--", "/bin/true"},
                            {{"STREAMSAN_PIPELINE_LIBRARY", "/nonexistent.so"}})
                          .Wait();
  EXPECT_EQ(library.code, 2);
  EXPECT_NE(library.err.find("/nonexistent.so: does not exist"), std::string::npos) << library.err;

  const Ran program = Child({kTool, "pipeline", "watch"}).Wait();
  EXPECT_EQ(program.code, 2);
  EXPECT_NE(program.err.find("no program given"), std::string::npos) << program.err;

  const std::string broken = Save("broken.sslog", std::string(100, 'x'));
  const Ran check = Child({kTool, "pipeline", "check", broken}).Wait();
  EXPECT_EQ(check.code, 2);
  EXPECT_NE(check.err.find("broken.sslog@byte 0: this is no recording"), std::string::npos)
      << check.err;
}

TEST_F(PipelineWatch, ARecordingThatBrokeOffIsNotComplete) {
  const std::string whole = ReadFile(Recording(false, false));
  const std::string cut = Save("cut.sslog", whole.substr(0, whole.size() - 32));
  const Ran ran = Child({kTool, "pipeline", "check", "--require-coverage", cut}).Wait();
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("what came after the recording broke off"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace ss
