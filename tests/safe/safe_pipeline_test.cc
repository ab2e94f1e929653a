// The host's side of safe/pipeline.cuh: what the roles do is what the checker reads.
#include <gtest/gtest.h>

#include "src/pipeline/check.h"
#include "tests/safe/store.h"

namespace {

using namespace ss::pipeline;

Verdict Judge(const std::string& text, Protocol& protocol) {
  ss::Result<Protocol> parsed = ParseProtocol(text, "described.pipe");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().Text() << "\n" << text;
  protocol = parsed ? *parsed : Protocol{};
  return Check(Lower(protocol));
}

std::string Describe(int chunks) {
  return streamsan::safe::Describe<store::Kernel>(chunks, static_cast<store::Buffers*>(nullptr), 0,
                                                  static_cast<const float*>(nullptr),
                                                  static_cast<float*>(nullptr));
}

TEST(SafePipeline, WhatRunsIsWhatIsDescribed) {
  const std::string text = Describe(1);
  EXPECT_NE(
      text.find("pipeline load_k stages 2 producers TMA arrivals 1 consumers MMA arrivals 1\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("pipeline acc stages 2 producers MMA arrivals 1 consumers CG0 CG1 arrivals 4\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("role TMA warps 1 {\n  acquire load_k\n  write load_k\n  commit load_k\n  "
                      "tail load_k\n}\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("role CG1 warps 4 {\n  advance acc\n  wait acc\n  read acc\n  acquire o_store\n"),
      std::string::npos)
      << text;
}

TEST(SafePipeline, TheDescribedProtocolIsRightForEveryCount) {
  for (int chunks = 1; chunks <= 6; ++chunks) {
    Protocol protocol;
    const Verdict verdict = Judge(Describe(chunks), protocol);
    EXPECT_EQ(verdict.Hazards(), 0U) << chunks;
    EXPECT_TRUE(verdict.exhaustive);
  }
}

// What types cannot see, the checker does: here a consumer that leaves out its last release.
struct Forgetful : store::Kernel {
  template <class Me>
  static void Run(Me& me, int chunks, store::Buffers* s, int thread, const float* from, float* to) {
    if constexpr (Me::template Is<store::Epi>) {
      auto o = me.template Consumer<store::OStore>();
      for (int c = 0; c < chunks; ++c) {
        o.Wait();
        if (c + 1 < chunks) o.Release();
      }
    } else {
      store::Kernel::Run(me, chunks, s, thread, from, to);
    }
  }
};

TEST(SafePipeline, ARightTypeMayStillBeAWrongProtocol) {
  Protocol protocol;
  const std::string text = streamsan::safe::Describe<Forgetful>(
      2, static_cast<store::Buffers*>(nullptr), 0, static_cast<const float*>(nullptr),
      static_cast<float*>(nullptr));
  const Verdict verdict = Judge(text, protocol);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].code, "pipeline-deadlock");
  EXPECT_EQ(verdict.findings[0].role, "CG1");
}

}  // namespace
