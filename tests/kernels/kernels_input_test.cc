// Files as they come: cubins, fat binaries, disassembly in both modes; and every kind of damage.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "src/kernels/fatbin.h"
#include "src/kernels/lz4.h"
#include "src/kernels/modules.h"
#include "tests/kernels/fixture.h"

namespace ss::kernels {
namespace {

std::string Fatbin(const std::string& name) { return ReadTestFile(FixturePath(name)); }

TEST(CubinReader, LayoutOfAKernel) {
  auto fixture = LoadFixture("basic", 90);
  EXPECT_EQ(fixture->cubin.arch, 90);
  auto saxpy = std::find_if(fixture->cubin.kernels.begin(), fixture->cubin.kernels.end(),
                            [](const KernelInfo& one) { return one.name == "saxpy"; });
  ASSERT_NE(saxpy, fixture->cubin.kernels.end());
  EXPECT_EQ(saxpy->param_base, 0x210u);
  EXPECT_EQ(saxpy->param_size, 24u);
  ASSERT_EQ(saxpy->params.size(), 4u);
  EXPECT_EQ(saxpy->params[2].offset, 8u);
  EXPECT_EQ(saxpy->params[2].size, 8u);
  EXPECT_EQ(fixture->cubin.addresses.at(16), "gptr");
}

TEST(CubinReader, BranchTables) {
  auto fixture = LoadFixture("basic", 90);
  for (const KernelInfo& kernel : fixture->cubin.kernels) {
    if (kernel.name != "switch_k") continue;
    ASSERT_EQ(kernel.branches.size(), 2u);
    EXPECT_EQ(kernel.branches[0].pc, 0xa0u);
    EXPECT_EQ(kernel.branches[0].targets, (std::vector<uint32_t>{0xf0, 0x130, 0xb0, 0x350}));
    return;
  }
  FAIL() << "switch_k is not there";
}

TEST(CubinReader, TruncatedAnywhereIsAnErrorWithAPlace) {
  auto fixture = LoadFixture("tma", 90);
  for (size_t size = 0; size < fixture->image.size(); size += 97) {
    Result<Cubin> cubin = ReadCubin(std::string_view(fixture->image).substr(0, size), "cut");
    ASSERT_FALSE(cubin.has_value()) << size;
    EXPECT_NE(cubin.error().Text().find("cut@byte"), std::string::npos) << cubin.error().Text();
  }
}

TEST(CubinReader, RandomDamageNeverCrashes) {
  auto fixture = LoadFixture("tma", 100);
  std::mt19937 random(7);
  Cache none("");
  Result<Disassembler> absent = Fail("", "absent");
  for (int round = 0; round < 300; ++round) {
    std::string image = fixture->image;
    for (int i = 0; i < 20; ++i) {
      // Headers and tables are at both ends.
      size_t range = round % 2 ? image.size() : 64;
      image[random() % range] = static_cast<char>(random());
    }
    auto list = ListModules(image, "damaged");
    if (!list) continue;
    for (const KernelSummary& one : AnalyseModules(list->images, absent, none).kernels) {
      EXPECT_FALSE(one.resolved());
    }
  }
}

TEST(CubinReader, HostProgramsAreNoCubins) {
  std::string self = ReadTestFile("/proc/self/exe");
  Result<Cubin> cubin = ReadCubin(self, "self");
  ASSERT_FALSE(cubin.has_value());
  EXPECT_NE(cubin.error().message.find("not CUDA"), std::string::npos) << cubin.error().Text();
}

TEST(FatbinReader, NothingButDamageIsNoEmptyAnswer) {
  const std::string whole = Fatbin("small_zstd.fatbin");
  for (size_t size : {size_t{64}, size_t{100}}) {
    EXPECT_FALSE(ListModules(std::string_view(whole).substr(0, size), "f").has_value()) << size;
  }
  EXPECT_TRUE(ListModules(whole, "f").has_value());
}

TEST(FatbinReader, Zstd) {
  auto entries = ReadFatbins(Fatbin("small_zstd.fatbin"), "f");
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].error + (*entries)[1].error, "");
  for (const FatbinEntry& one : *entries) EXPECT_TRUE(one.was_compressed);
  auto list = ListModules(Fatbin("small_zstd.fatbin"), "f");
  ASSERT_EQ(list->images.size(), 1u);
  Result<Cubin> cubin = ReadCubin(list->images[0].bytes, list->images[0].place);
  ASSERT_TRUE(cubin.has_value());
  EXPECT_EQ(cubin->kernels.at(0).name, "add_one");
  ASSERT_EQ(list->notes.size(), 1u);
  EXPECT_NE(list->notes[0].find("PTX for compute_90"), std::string::npos);
}

TEST(FatbinReader, Lz4) {
  auto entries = ReadFatbins(Fatbin("small_lz4.fatbin"), "f");
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 3u);
  auto ptx = std::find_if(entries->begin(), entries->end(),
                          [](const FatbinEntry& one) { return one.kind == EntryKind::kPtx; });
  ASSERT_NE(ptx, entries->end());
  EXPECT_TRUE(ptx->was_compressed);
  EXPECT_EQ(ptx->error, "");
  EXPECT_NE(ptx->image.find(".visible .entry add_one"), std::string::npos);
}

TEST(FatbinReader, InsideAnotherFileAndTwice) {
  std::string one = Fatbin("small_zstd.fatbin");
  std::string file = std::string(1000, 'x') + one + std::string(32, '\0') + one;
  auto list = ListModules(file, "program");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->images.size(), 2u);
}

TEST(FatbinReader, DamageIsSaidAndNothingCrashes) {
  std::string whole = Fatbin("small_lz4.fatbin");
  EXPECT_FALSE(ReadFatbins("nothing of the kind", "f").has_value());
  for (size_t size = 16; size < whole.size(); size += 13) {
    auto entries = ReadFatbins(std::string_view(whole).substr(0, size), "f");
    ASSERT_TRUE(entries.has_value());
    bool said = std::any_of(entries->begin(), entries->end(),
                            [](const FatbinEntry& entry) { return !entry.error.empty(); });
    EXPECT_TRUE(said) << size;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string image = whole;
    for (int i = 0; i < 8; ++i)
      image[4 + random() % (image.size() - 4)] = static_cast<char>(random());
    ReadFatbins(image, "f");
  }
}

// Code for link-time optimisation and the like: packed in ways of its own.
TEST(FatbinReader, WhatIsNeitherMachineCodeNorPtxIsNamed) {
  std::string image = Fatbin("small_zstd.fatbin");
  const size_t before = ListModules(image, "f").value().images.size();
  image[16] = 8;  // the kind of the first entry
  image[16 + 64 + 20] ^= 1;
  Result<ModuleList> list = ListModules(image, "f");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->images.size(), before - 1);
  ASSERT_FALSE(list->notes.empty());
  EXPECT_NE(list->notes[0].find("neither machine code nor PTX"), std::string::npos);
}

TEST(Lz4, BlocksByHand) {
  std::string out;
  EXPECT_TRUE(UnpackLz4(std::string("\x50"
                                    "hello",
                                    6),
                        5, &out));
  EXPECT_EQ(out, "hello");
  // One literal, then a match at distance 1 of 4 + 2 bytes, then the last literal.
  EXPECT_TRUE(UnpackLz4(std::string("\x12"
                                    "a\x01\x00\x10"
                                    "b",
                                    6),
                        8, &out));
  EXPECT_EQ(out, "aaaaaaab");
  EXPECT_FALSE(UnpackLz4(std::string("\x12"
                                     "a\x02\x00\x10"
                                     "b",
                                     6),
                         8, &out))
      << "before the start";
  EXPECT_FALSE(UnpackLz4(std::string("\x12"
                                     "a\x01\x00\x10"
                                     "b",
                                     6),
                         7, &out))
      << "too much";
  EXPECT_FALSE(UnpackLz4(std::string("\xf0\xff\xff", 3), 500, &out)) << "length without its end";
}

TEST(SassParser, OperandsOfOneLine) {
  auto text = std::make_shared<const std::string>(
      "\t.section\t.text.k,\"ax\"\n.text.k:\n"
      "        /*0000*/              @!P0 IADD3.X R3, P1, PT, -R5.reuse, c[0x0][0x21c], RZ, P0, "
      "!PT ;\n"
      ".L_x_0:\n"
      "        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64+-0x10] ;\n"
      "        /*0020*/                   BRA `(.L_x_0);\n");
  Result<Code> code = ParseElfText(text, "t");
  ASSERT_TRUE(code.has_value());
  ASSERT_EQ(code->instructions.size(), 3u);
  const Instruction& add = code->instructions[0];
  EXPECT_TRUE(add.guarded && add.guard_negated);
  EXPECT_EQ(add.op, OpClass::kAdd);
  ASSERT_EQ(add.operand_count, 8);
  EXPECT_TRUE(code->Operands(add)[3].negated);
  EXPECT_EQ(code->Operands(add)[3].reg, 5);
  EXPECT_EQ(code->Operands(add)[4].value, 0x21cu);
  const Operand& memory = code->Operands(code->instructions[1])[1];
  EXPECT_EQ(memory.kind, OperandKind::kMemory);
  EXPECT_EQ(memory.part[0].reg, 2);
  EXPECT_EQ(static_cast<int32_t>(memory.value), -16);
  EXPECT_EQ(code->Operands(code->instructions[2])[0].target, 1u);
}

TEST(SassParser, NoDisassemblyIsAnError) {
  auto text = std::make_shared<const std::string>("nvdisasm fatal: no such file\n");
  EXPECT_FALSE(ParseElfText(text, "t").has_value());
}

// One `nvdisasm -b` over the concatenated code of all kernels says the same as the ELF file,
// wherever no relocation is needed.
TEST(SassParser, RawModeAgreesWithElfMode) {
  auto fixture = LoadFixture("basic", 90);
  auto raw =
      std::make_shared<const std::string>(Unpack(ReadTestFile(FixturePath("basic_sm90.raw.zst"))));
  std::vector<RawPiece> pieces;
  uint64_t offset = 0;
  for (const TextSection& text : fixture->cubin.text) {
    pieces.push_back({text.name, offset, text.size});
    offset += text.size;
  }
  Result<Code> code = ParseRawText(raw, pieces, "raw");
  ASSERT_TRUE(code.has_value()) << code.error().Text();
  Analyser by_elf(fixture->cubin, fixture->code), by_raw(fixture->cubin, *code);
  int compared = 0;
  for (const KernelInfo& kernel : fixture->cubin.kernels) {
    if (fixture->cubin.text[kernel.section].relocated) continue;
    KernelSummary a = by_elf.Summarise(kernel), b = by_raw.Summarise(kernel);
    ++compared;
    ASSERT_EQ(a.accesses.size(), b.accesses.size()) << kernel.name;
    EXPECT_EQ(a.Flags(), b.Flags()) << kernel.name;
    for (size_t i = 0; i < a.accesses.size(); ++i) {
      EXPECT_EQ(a.accesses[i].offset, b.accesses[i].offset) << kernel.name;
      EXPECT_EQ(a.accesses[i].Modes(), b.accesses[i].Modes()) << kernel.name;
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(Analyser, WithoutDisassemblyEveryKernelIsUnresolvedWithTheReason) {
  auto fixture = LoadFixture("tma", 90);
  Cache none("");
  Analysis analysis =
      AnalyseModules({{"m", fixture->image}}, Fail("", "nvdisasm was not found"), none);
  ASSERT_EQ(analysis.kernels.size(), fixture->cubin.kernels.size());
  for (const KernelSummary& one : analysis.kernels) {
    ASSERT_FALSE(one.resolved());
    EXPECT_NE(one.unresolved[0].find("nvdisasm was not found"), std::string::npos);
  }
}

TEST(Analyser, AnUnknownArchitectureIsUnresolved) {
  auto fixture = LoadFixture("tma", 90);
  fixture->cubin.arch = 250;
  for (const KernelSummary& one : Analyser(fixture->cubin, fixture->code).All()) {
    ASSERT_FALSE(one.resolved());
    EXPECT_NE(one.unresolved[0].find("sm_250"), std::string::npos);
  }
}

// R4 is the first parameter's, then under P1 the second's; the store under P1 is the second's
// alone, though another block lies between. Seen in a real library.
TEST(Analyser, APredicateHoldsAcrossBlocks) {
  Cubin cubin;
  cubin.arch = 80;
  cubin.text.push_back({".text.k", 0, 0, false});
  KernelInfo kernel;
  kernel.name = "k";
  kernel.param_base = 0x160;
  kernel.param_size = 16;
  kernel.params = {{0, 8}, {8, 8}};
  cubin.kernels.push_back(kernel);
  auto text = std::make_shared<const std::string>(R"(
	.section	.text.k,"ax",@progbits
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   MOV R7, 0x4 ;
        /*0020*/                   IMAD.WIDE R4, R0, R7, c[0x0][0x160] ;
        /*0030*/                   LDG.E R2, [R4.64] ;
        /*0040*/                   ISETP.NE.U32.AND P1, PT, RZ, c[0x0][0x168], PT ;
        /*0050*/               @P1 LEA R4, P6, R0, c[0x0][0x168], 0x2 ;
        /*0060*/               @P1 LEA.HI.X R5, R0, c[0x0][0x16c], R3, 0x2, P6 ;
        /*0070*/               @P4 BRA `(.L_x_0) ;
        /*0080*/                   FADD R9, R9, R9 ;
.L_x_0:
        /*0090*/               @P1 STG.E [R4.64], R2 ;
        /*00a0*/                   EXIT ;
)");
  Result<Code> code = ParseElfText(text, "by hand");
  ASSERT_TRUE(code.has_value());
  KernelSummary summary = Analyser(cubin, *code).All().at(0);
  ASSERT_EQ(summary.accesses.size(), 2u);
  EXPECT_EQ(summary.accesses[0].Modes(), "R");
  EXPECT_EQ(summary.accesses[1].offset, 8);
  EXPECT_EQ(summary.accesses[1].Modes(), "W");
}

}  // namespace
}  // namespace ss::kernels
