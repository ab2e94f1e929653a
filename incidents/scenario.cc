#include "scenario.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "vgpu/control.h"

namespace ss::incidents {

namespace {

struct Seeds {
  uint64_t first = 0;
  uint64_t last = 0;
  std::string policy = "random";
};

struct Parsed {
  Options options;
  std::optional<Seeds> seeds;
  std::string policy;
};

[[noreturn]] void Usage(const Scenario& scenario, const std::string& problem) {
  FILE* out = problem.empty() ? stdout : stderr;
  if (!problem.empty()) std::fprintf(out, "%s: %s\n", scenario.name, problem.c_str());
  const auto list = [&](const char* option, const std::vector<std::string>& names) {
    std::fprintf(out, "  --%s=none", option);
    for (const std::string& name : names) std::fprintf(out, "|%s", name.c_str());
    std::fprintf(out, "\n");
  };
  std::fprintf(out, "%s: %s\n", scenario.name, scenario.summary);
  list("fault", scenario.faults);
  list("fix", scenario.fixes);
  if (!scenario.registrations.empty()) list("omit", scenario.registrations);
  std::fprintf(out,
               "  --steps N  --elements N  --fill=on|off  --delay-ms N (real GPU)\n"
               "  --declare=on|off       tell the tool what the kernels read and write\n"
               "  --check                wrong data exits 1\n"
               "  --seeds A..B           virtual GPU: one run for each seed\n"
               "  --policy eager|lazy|random|pct   of --seeds\n");
  std::exit(problem.empty() ? 0 : 2);
}

std::string OneOf(const Scenario& scenario, const std::string& option, const std::string& value,
                  const std::vector<std::string>& names) {
  if (value == "none") return value;
  for (const std::string& name : names) {
    if (name == value) return value;
  }
  Usage(scenario, "--" + option + "=" + value + ": unknown");
}

uint64_t Number(const Scenario& scenario, const std::string& option, const std::string& value) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(value.c_str(), &end, 10);
  if (value.empty() || value[0] == '-' || *end)
    Usage(scenario, "--" + option + ": " + value + " is no number");
  return number;
}

Seeds SeedRange(const Scenario& scenario, const std::string& value) {
  const size_t dots = value.find("..");
  if (dots == std::string::npos) Usage(scenario, "--seeds: expected A..B, found " + value);
  Seeds seeds;
  seeds.first = Number(scenario, "seeds", value.substr(0, dots));
  seeds.last = Number(scenario, "seeds", value.substr(dots + 2));
  if (seeds.last < seeds.first) Usage(scenario, "--seeds: " + value + " is empty");
  return seeds;
}

void Apply(const Scenario& scenario, const std::string& option, const std::string& value,
           Parsed* parsed) {
  Options& options = parsed->options;
  if (option == "fault") {
    options.fault = OneOf(scenario, option, value, scenario.faults);
  } else if (option == "fix") {
    options.fix = OneOf(scenario, option, value, scenario.fixes);
  } else if (option == "omit") {
    options.omit.insert(OneOf(scenario, option, value, scenario.registrations));
  } else if (option == "steps") {
    options.steps = static_cast<uint32_t>(Number(scenario, option, value));
  } else if (option == "elements") {
    options.elements = static_cast<uint32_t>(Number(scenario, option, value));
  } else if (option == "delay-ms") {
    options.delay_ns = Number(scenario, option, value) * 1'000'000;
  } else if (option == "fill" && (value == "on" || value == "off")) {
    options.fill = value == "on";
  } else if (option == "declare" && (value == "on" || value == "off")) {
    options.declare = value == "on";
  } else if (option == "seeds") {
    parsed->seeds = SeedRange(scenario, value);
  } else if (option == "policy") {
    parsed->policy = value;
  } else {
    Usage(scenario, "--" + option + "=" + value + ": unknown");
  }
}

Parsed Parse(const Scenario& scenario, int argc, char** argv) {
  Parsed parsed;
  parsed.options.fault = scenario.faults.front();
  parsed.options.fill = scenario.fill;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") Usage(scenario, "");
    if (argument == "--check") {
      parsed.options.check = true;
      continue;
    }
    if (argument.compare(0, 2, "--") != 0) Usage(scenario, argument + ": unexpected");
    const size_t equals = argument.find('=');
    if (equals == std::string::npos && i + 1 >= argc) Usage(scenario, argument + ": needs a value");
    const std::string value = equals == std::string::npos ? argv[++i] : argument.substr(equals + 1);
    Apply(scenario, argument.substr(2, equals == std::string::npos ? equals : equals - 2), value,
          &parsed);
  }
  if (parsed.seeds && !parsed.policy.empty()) parsed.seeds->policy = parsed.policy;
  return parsed;
}

int Verdict(const Options& options, bool right) { return options.check && !right ? 1 : 0; }

int RunSeeds(const Scenario& scenario, const Options& options, const Seeds& seeds) {
  uint64_t wrong = 0, first_wrong = 0;
  Checker::Counts total;
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    if (!vgpu_restart(seeds.policy.c_str(), seed)) {
      Usage(scenario, "--seeds: needs the virtual GPU and a policy that it knows");
    }
    const Checker::Counts counts = scenario.run(options);
    if (counts.right()) continue;
    if (wrong++ == 0) first_wrong = seed;
    total.nans += counts.nans;
    total.stale += counts.stale;
  }
  const auto runs = static_cast<unsigned long long>(seeds.last - seeds.first + 1);
  std::printf("%s fault=%s fix=%s policy=%s: %llu seeds, %llu wrong", scenario.name,
              options.fault.c_str(), options.fix.c_str(), seeds.policy.c_str(), runs,
              static_cast<unsigned long long>(wrong));
  if (wrong) {
    std::printf(" (first %llu; %u NaN, %u stale)", static_cast<unsigned long long>(first_wrong),
                total.nans, total.stale);
  }
  std::printf("\n");
  return Verdict(options, wrong == 0);
}

}  // namespace

Checker::Counts Checker::Read() {
  CU(cuCtxSynchronize());
  uint32_t counts[2] = {};
  CU(cuMemcpyDtoH(counts, reinterpret_cast<CUdeviceptr>(counts_), sizeof counts));
  return {counts[0], counts[1]};
}

int Main(const Scenario& scenario, int argc, char** argv) {
  const Parsed parsed = Parse(scenario, argc, argv);
  if (parsed.seeds) return RunSeeds(scenario, parsed.options, *parsed.seeds);
  const Checker::Counts counts = scenario.run(parsed.options);
  if (counts.right()) {
    std::printf("data: right\n");
  } else {
    std::printf("data: WRONG (%u NaN, %u stale)\n", counts.nans, counts.stale);
  }
  return Verdict(parsed.options, counts.right());
}

}  // namespace ss::incidents
