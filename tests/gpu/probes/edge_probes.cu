// Does the hardware order what the rules of docs/semantics.md state, and nothing more? One line a
// probe:   rule | probe | expected | seen | agree
// "open" under `agree`: NVIDIA's text says "may", so the model takes no edge and either answer is
// right; the line tells what this machine did. Rules 11, 13 and 14 and the library rules have tests
// of their own; this program covers streams, events, contexts, copies, host functions and
// allocation.
//
// Build: nvcc -std=c++17 -O2 -gencode arch=compute_90,code=sm_90 -cudart static edge_probes.cu
// Run:   edge_probes [--reps N] [--delay-us N] [--only RULE]
// With --delay-us 0 nothing is ever late, so every probe that expects "before" must disagree: that
// run shows that the probes can fail. (Of "early" only some do: a call can be faster than an empty
// kernel.) The program asks for 32 hardware queues unless CUDA_DEVICE_MAX_CONNECTIONS is set.
// Exit: 0 every probe agrees, 1 some do not, 2 usage or CUDA failed, 3 hung.

#include <unistd.h>

#include <map>

#include "context_probes.h"
#include "copy_probes.h"
#include "event_probes.h"
#include "memory_probes.h"
#include "order_probes.h"

namespace probes {
namespace {

constexpr int kDeadlineSeconds = 100;

struct Options {
  int reps = 5;
  long delay_us = 20000;
  std::string only;
};

std::atomic<const char*> g_now{"start"};

// A hang must not eat the machine's time; _exit leaves the cleaning up to the driver.
void StartWatchdog() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(kDeadlineSeconds));
    printf("# hung in: %s\n", g_now.load());
    fflush(stdout);
    _exit(3);
  }).detach();
}

std::string RunOnce(Lab& lab, const Probe& probe) {
  try {
    lab.Reset();
    return probe.run(lab);
  } catch (const std::exception& e) {
    cudaGetLastError();
    return e.what();
  }
}

// "early" when unanimous, "early x3, waits x2" when not.
std::string Describe(const std::map<std::string, int>& seen) {
  if (seen.size() == 1) return seen.begin()->first;
  std::string text;
  for (const auto& [word, times] : seen) {
    text += (text.empty() ? "" : "; ") + word + " x" + std::to_string(times);
  }
  return text;
}

const char* Verdict(const Probe& probe, const std::string& seen) {
  if (seen.rfind("skipped", 0) == 0) return "skipped";
  if (probe.expected == nullptr) return "open";
  return seen == probe.expected ? "yes" : "no";
}

std::string Judge(Lab& lab, const Probe& probe, int reps) {
  g_now = probe.text;
  std::map<std::string, int> seen;
  for (lab.rep = 0; lab.rep < reps; ++lab.rep) ++seen[RunOnce(lab, probe)];
  const std::string text = Describe(seen);
  const std::string verdict = Verdict(probe, text);
  printf("| %s | %s | %s | %s | %s |\n", probe.rule, probe.text,
         probe.expected ? probe.expected : "either", text.c_str(), verdict.c_str());
  fflush(stdout);
  return verdict;
}

template <size_t kN>
void JudgeAll(Lab& lab, const Probe (&table)[kN], const Options& o,
              std::map<std::string, int>* tally) {
  for (const Probe& probe : table) {
    if (o.only.empty() || o.only == probe.rule) ++(*tally)[Judge(lab, probe, o.reps)];
  }
}

void PrintMachine(const Options& o) {
  cudaDeviceProp device;
  int driver = 0, runtime = 0;
  MUST(cudaGetDeviceProperties(&device, 0));
  MUST(cudaDriverGetVersion(&driver));
  MUST(cudaRuntimeGetVersion(&runtime));
  printf("# %s, driver API %d, runtime %d, %d repetitions, delay %ld us\n", device.name, driver,
         runtime, o.reps, o.delay_us);
  printf("| rule | probe | expected | seen | agree |\n|---|---|---|---|---|\n");
}

int Run(const Options& o) {
  MUST(cudaSetDevice(0));
  Lab lab(static_cast<uint64_t>(o.delay_us) * 1000);
  lab.WarmUp();
  PrintMachine(o);
  const auto begin = std::chrono::steady_clock::now();
  std::map<std::string, int> tally;
  JudgeAll(lab, kOrderProbes, o, &tally);
  JudgeAll(lab, kEventProbes, o, &tally);
  JudgeAll(lab, kCopyProbes, o, &tally);
  JudgeAll(lab, kMemoryProbes, o, &tally);
  JudgeAll(lab, kContextProbes, o, &tally);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  printf("# agree %d, disagree %d, open %d, skipped %d, %.1f s\n", tally["yes"], tally["no"],
         tally["open"], tally["skipped"], took.count());
  return tally["no"] == 0 ? 0 : 1;
}

bool Parse(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return false;
    if (name == "--reps") {
      o->reps = atoi(argv[i + 1]);
    } else if (name == "--delay-us") {
      o->delay_us = atol(argv[i + 1]);
    } else if (name == "--only") {
      o->only = argv[i + 1];
    } else {
      return false;
    }
  }
  return o->reps >= 1 && o->reps <= kMaxReps && o->delay_us >= 0 && o->delay_us <= 100000;
}

}  // namespace
}  // namespace probes

int main(int argc, char** argv) {
  probes::Options options;
  if (!probes::Parse(argc, argv, &options)) {
    fprintf(stderr, "usage: edge_probes [--reps 1..%d] [--delay-us 0..100000] [--only RULE]\n",
            probes::kMaxReps);
    return 2;
  }
  // As many hardware queues as there are: with few, unrelated streams share one and look ordered.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  probes::StartWatchdog();
  try {
    return probes::Run(options);
  } catch (const std::exception& e) {
    fprintf(stderr, "edge_probes: %s\n", e.what());
    return 2;
  }
}
