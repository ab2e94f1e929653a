#include "tests/pipeline/recorder.h"

#include <cstring>
#include <random>

#include "src/pipeline/machine.h"

namespace ss::pipeline {
namespace {

template <class T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class Recorder {
 public:
  Recorder(const Program& program, const RecorderOptions& options)
      : program_(program), options_(options), machine_(program), random_(options.seed) {}

  RecordedRun Run() {
    const auto warps = static_cast<uint32_t>(program_.agents.size());
    log_.Launch(0, "kernel", options_.blocks, warps);
    for (uint32_t block = 0; block < options_.blocks; ++block) {
      block_ = block;
      Begin();
      Block();
    }
    RecordedRun run;
    run.stuck = !log_.stuck.empty();
    run.log = log_.End(run.stuck ? LogEnd::kHang : LogEnd::kExit);
    for (uint32_t role = 0; role < program_.protocol->roles.size(); ++role)
      run.roles[program_.protocol->roles[role].name] = RoleName(role);
    for (uint32_t i = 0; i < program_.barriers.size(); ++i)
      run.pipe_of[Offset(i)] = program_.OwnerName(program_.barriers[i]);
    return run;
  }

 private:
  static uint32_t Offset(uint32_t barrier) { return 0x400 + 8 * barrier; }
  static uint32_t Address(uint32_t barrier) { return Offset(barrier); }
  bool Named(uint32_t barrier) const {
    return program_.barriers[barrier].kind == Barrier::Kind::kNamed;
  }

  std::string RoleName(uint32_t role) const {
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t agent = 0; agent < program_.agents.size(); ++agent) {
      if (program_.agents[agent].role != role) continue;
      first = std::min(first, agent);
      last = agent;
    }
    return first == last ? "warp " + std::to_string(first)
                         : "warps " + std::to_string(first) + "-" + std::to_string(last);
  }

  void Begin() {
    state_ = machine_.Start();
    if (options_.before_init) ComeEarly();
    for (uint32_t i = 0; i < program_.barriers.size(); ++i) {
      if (!Named(i))
        log_.Add(block_, 0, RecordKind::kInit, Address(i), program_.barriers[i].expected, 16);
    }
    if (!options_.before_init) ComeEarly();
    if (!options_.init_barrier) return;
    for (const RecordKind kind : {RecordKind::kBarEnter, RecordKind::kBarLeave}) {
      for (uint32_t agent = 0; agent < program_.agents.size(); ++agent)
        log_.Add(block_, agent, kind, 0, 0, 32);
    }
  }

  void ComeEarly() {
    for (uint32_t agent = 0; agent < program_.agents.size(); ++agent) ComeEarly(agent);
  }
  void ComeEarly(uint32_t agent) {
    const Step* step = machine_.Next(state_, agent);
    const uint32_t role = program_.agents[agent].role;
    if (!step || !options_.early.count(program_.protocol->roles[role].name)) return;
    if (step->kind != Step::Kind::kWait || !machine_.Enabled(state_, agent)) return;
    Take(agent, *step);
    machine_.Advance(state_, agent);
  }

  void Block() {
    State& state = state_;
    std::vector<bool> failing(program_.agents.size()), gone(program_.agents.size());
    issued_.assign(program_.agents.size(), false);
    for (uint32_t agent = 0; agent < program_.agents.size(); ++agent) Issue(agent);
    for (;;) {
      std::vector<uint32_t> able;
      late_ = false;
      for (uint32_t agent = 0; agent < program_.agents.size(); ++agent) {
        const Step* step = machine_.Next(state, agent);
        if (step && machine_.Enabled(state, agent) && !Late(agent, *step)) able.push_back(agent);
        if (step && step->kind == Step::Kind::kWait && !machine_.Enabled(state, agent))
          Fail(agent, *step, failing);
        if (!step && !gone[agent])
          log_.Add(block_, agent, RecordKind::kExit, 0), gone[agent] = true;
      }
      if (able.empty() && late_) continue;
      if (able.empty()) break;
      const uint32_t agent = able[random_() % able.size()];
      const Step& step = *machine_.Next(state, agent);
      if (failing[agent] && options_.late_looks && step.kind == Step::Kind::kWait)
        Look(agent, step, false);
      Take(agent, step);
      failing[agent] = false;
      machine_.Advance(state, agent);
      Issue(agent);
    }
    for (uint32_t agent = 0; agent < program_.agents.size(); ++agent) {
      const Step* step = machine_.Next(state, agent);
      if (!step) continue;
      const uint32_t barrier = Named(step->barrier) ? 0 : Address(step->barrier);
      if (!barrier) continue;
      if (failing[agent] && options_.late_looks) Look(agent, *step, false);
      log_.Stuck(block_, agent, barrier, Parity(*step), Pc(agent, *step));
      log_.stuck.back().word = log_.records.back().word = Word(step->barrier);
    }
  }

  // A role that says `delay` mostly comes late.
  bool Late(uint32_t agent, const Step& step) {
    const uint32_t role = program_.agents[agent].role;
    const bool late =
        program_.protocol->roles[role].ops[step.op].kind == OpKind::kDelay && random_() % 50;
    late_ = late_ || late;
    return late;
  }

  // The object as the hardware has it, where it can be read.
  uint64_t Word(uint32_t barrier) const {
    if (options_.unread) return 0;
    const Phases& phases = state_.barriers[barrier];
    if (options_.parities) return MakeParity(phases.complete % 2);
    const auto count = [](int64_t n) { return static_cast<uint32_t>(std::max<int64_t>(n, 0)); };
    return MakeWord(count(phases.expected), count(phases.pending), phases.complete % 2);
  }

  void Touch(uint32_t agent, RecordKind kind, uint32_t barrier, uint32_t data, uint64_t pc,
             bool passed = false) {
    log_.Add(block_, agent, kind, Address(barrier), data, pc, passed).word = Word(barrier);
  }

  // Now and then it looks and finds it closed: the first time of a row is logged.
  void Fail(uint32_t agent, const Step& step, std::vector<bool>& failing) {
    if (failing[agent] || random_() % 3) return;
    failing[agent] = true;
    if (!options_.late_looks) Look(agent, step, false);
  }

  // What the patch makes of a look: the parity follows from its outcome and the object as it is
  // read now.
  void Look(uint32_t agent, const Step& step, bool passed) {
    const uint32_t parity = WordParity(Word(step.barrier)) ^ (passed ? 1 : 0);
    Touch(agent, RecordKind::kTry, step.barrier, parity, Pc(agent, step), passed);
  }

  bool IsOn(const std::set<std::string>& pipes, uint32_t barrier) const {
    const Barrier& one = program_.barriers[barrier];
    return (one.kind == Barrier::Kind::kFull || one.kind == Barrier::Kind::kMbar) &&
           pipes.count(program_.OwnerName(one)) > 0;
  }

  // An asynchronous arrival is issued as soon as its role comes to it.
  void Issue(uint32_t agent) {
    const Step* step = machine_.Next(state_, agent);
    if (!step || step->kind != Step::Kind::kArrive || !IsOn(options_.later, step->barrier)) return;
    log_.Add(block_, agent, RecordKind::kAsyncArrive, Address(step->barrier), 0, Pc(agent, *step))
        .lanes = static_cast<uint8_t>(step->count);
    issued_[agent] = true;
  }
  bool Came(uint32_t agent) {
    const bool issued = issued_[agent];
    issued_[agent] = false;
    return issued;
  }

  static uint32_t Parity(const Step& step) { return step.need % 2 == 0; }

  // Turns of a loop are the same instruction.
  uint64_t Pc(uint32_t agent, const Step& step) const {
    const uint32_t role = program_.agents[agent].role;
    const Op& op = program_.protocol->roles[role].ops[step.op];
    return 0x10'0000 * (role + 1) + 0x400 * op.line + 16 * (op.column % 64);
  }

  void Take(uint32_t agent, const Step& step) {
    const uint64_t pc = Pc(agent, step);
    switch (step.kind) {
      case Step::Kind::kArrive:
        if (IsOn(options_.hidden, step.barrier) || Came(agent)) break;
        if (Named(step.barrier)) {
          log_.Add(block_, agent, RecordKind::kBarEnter, 1 + step.barrier, 0, pc);
        } else {
          Touch(agent, RecordKind::kArrive, step.barrier, step.count, pc);
        }
        break;
      case Step::Kind::kDrop:
        Touch(agent, RecordKind::kArriveDrop, step.barrier, step.count, pc);
        break;
      case Step::Kind::kComplete:
        log_.Add(block_, agent, RecordKind::kBulkCopy, Address(step.barrier), 1, pc);
        break;
      case Step::Kind::kWait:
        Look(agent, step, true);
        break;
      case Step::Kind::kMeet:
        log_.Add(block_, agent, RecordKind::kBarLeave, 1 + step.barrier, 0, pc);
        break;
      default:
        break;
    }
  }

  const Program& program_;
  const RecorderOptions options_;
  const Machine machine_;
  std::mt19937_64 random_;
  LogWriter log_;
  State state_;
  uint32_t block_ = 0;
  bool late_ = false;
  std::vector<bool> issued_;  // an agent: its next arrival is on its way
};

}  // namespace

LogWriter::LogWriter() {
  FileHeader header{};
  std::memcpy(header.magic, kLogMagic, sizeof header.magic);
  header.version = kLogVersion;
  header.record_bytes = sizeof(LogRecord);
  bytes_ = Bytes(header);
}

void LogWriter::Launch(uint32_t number, const std::string& kernel, uint32_t blocks, uint32_t warps,
                       uint32_t cluster) {
  launch_ = number;
  LaunchChunk chunk{};
  chunk.launch = number;
  chunk.blocks_watched = blocks;
  const uint32_t shape[3][3] = {{blocks, 1, 1}, {32 * warps, 1, 1}, {cluster, 1, 1}};
  std::memcpy(chunk.grid, shape[0], sizeof chunk.grid);
  std::memcpy(chunk.block, shape[1], sizeof chunk.block);
  std::memcpy(chunk.cluster, shape[2], sizeof chunk.cluster);
  chunk.pc = kKernelPc;
  const std::string bytes = Bytes(chunk) + kernel;
  Chunk(ChunkKind::kLaunch, bytes.data(), bytes.size());
}

LogRecord& LogWriter::Add(uint32_t block, uint32_t warp, RecordKind kind, uint32_t barrier,
                          uint32_t data, uint64_t pc, bool passed) {
  LogRecord record{};
  record.place = (kKernelPc + pc) | static_cast<uint64_t>(kind) << 48 | uint64_t{1} << 56;
  record.barrier = barrier;
  record.data = static_cast<uint16_t>(data);
  record.block = block;
  record.launch = static_cast<uint16_t>(launch_);
  record.warp = static_cast<uint8_t>(warp);
  record.lanes = 1;
  record.result = passed;
  record.tag = 1;
  return records.emplace_back(record);
}

void LogWriter::Stuck(uint32_t block, uint32_t warp, uint32_t barrier, uint32_t parity,
                      uint64_t pc) {
  Add(block, warp, RecordKind::kTry, barrier, parity, pc);
  stuck.push_back(records.back());
}

std::string LogWriter::CutShort() {
  Chunk(ChunkKind::kRecords, records.data(), records.size() * sizeof(LogRecord));
  records.clear();
  return bytes_;
}

std::string LogWriter::End(LogEnd how) {
  CutShort();
  if (!stuck.empty()) Chunk(ChunkKind::kStuck, stuck.data(), stuck.size() * sizeof(StuckWarp));
  const EndChunk end{how, 0, 0, 0, 1, 0, 0, how == LogEnd::kHang ? 10'000U : 0U};
  Chunk(ChunkKind::kEnd, &end, sizeof end);
  return bytes_;
}

void LogWriter::Chunk(ChunkKind kind, const void* data, size_t bytes) {
  bytes_ += Bytes(ChunkHeader{static_cast<uint32_t>(kind), static_cast<uint32_t>(bytes)});
  bytes_.append(static_cast<const char*>(data), bytes);
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
}

RecordedRun RecordRun(const Program& program, const RecorderOptions& options) {
  return Recorder(program, options).Run();
}

}  // namespace ss::pipeline
