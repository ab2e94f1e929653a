#include "bench/operation_file.h"

#include <cstring>
#include <fstream>

namespace ss::bench {
namespace {

constexpr char kMagic[] = "SSOPS001";
constexpr size_t kMagicBytes = 8;

FileOp Pack(const Op& op, uint64_t access_begin) {
  FileOp file{};
  file.kind = static_cast<uint8_t>(op.kind);
  file.access_count = static_cast<uint8_t>(op.access_count);
  file.flags = op.flags;
  file.host = op.host;
  file.stack = static_cast<uint16_t>(op.stack);
  file.stream = op.stream;
  file.object = op.object;
  file.aux = op.aux;
  file.name = op.name;
  file.value = op.value;
  file.access_begin = access_begin;
  return file;
}

Op Unpack(const FileOp& file, OpId id) {
  Op op;
  op.kind = static_cast<OpKind>(file.kind);
  op.flags = file.flags;
  op.host = file.host;
  op.stream = file.stream;
  op.object = file.object;
  op.aux = file.aux;
  op.value = file.value;
  op.access_begin = static_cast<uint32_t>(file.access_begin);
  op.access_count = file.access_count;
  op.name = file.name;
  op.stack = file.stack;
  op.id = id;
  return op;
}

template <typename T>
void Put(std::ofstream& out, const T* data, size_t count) {
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(T)));
}

template <typename T>
bool Get(std::ifstream& in, T* data, size_t count) {
  return static_cast<bool>(
      in.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(count * sizeof(T))));
}

}  // namespace

Result<void> WriteOperations(const std::string& path, const WorkloadOptions& options,
                             uint64_t count) {
  Program names;
  Workload workload(options, &names);
  std::vector<FileOp> ops;
  std::vector<FileAccess> accesses;
  for (uint64_t i = 0; i < count; ++i) {
    const Access* touched = nullptr;
    const Op& op = workload.Next(&touched);
    ops.push_back(Pack(op, accesses.size()));
    for (uint32_t k = 0; k < op.access_count; ++k) {
      accesses.push_back({touched[k].begin,
                          touched[k].end,
                          touched[k].mode,
                          static_cast<uint8_t>(touched[k].memory),
                          {}});
    }
  }
  std::ofstream out(path, std::ios::binary);
  uint64_t counts[] = {ops.size(), accesses.size()};
  Put(out, kMagic, kMagicBytes);
  Put(out, counts, 2);
  Put(out, ops.data(), ops.size());
  Put(out, accesses.data(), accesses.size());
  if (!out.flush()) return Fail(path, "cannot write", "is there space, and may you write there?");
  return {};
}

Result<void> ReadOperations(const std::string& path, Program* program) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return Fail(path, "cannot open", "engine_bench --write makes it");
  uint64_t size = static_cast<uint64_t>(in.tellg());
  in.seekg(0);
  char magic[kMagicBytes];
  uint64_t counts[2];
  bool head = Get(in, magic, kMagicBytes) && Get(in, counts, 2);
  if (!head || std::memcmp(magic, kMagic, kMagicBytes) != 0 || counts[0] > size ||
      counts[1] > size ||
      size != kMagicBytes + sizeof counts + counts[0] * sizeof(FileOp) +
                  counts[1] * sizeof(FileAccess)) {
    return Fail(path, "not a file of recorded operations", "engine_bench --write makes one");
  }
  std::vector<FileOp> ops(counts[0]);
  std::vector<FileAccess> accesses(counts[1]);
  if (!Get(in, ops.data(), ops.size()) || !Get(in, accesses.data(), accesses.size())) {
    return Fail(path, "cannot read");
  }
  for (const FileOp& op : ops) {
    if (op.access_begin + op.access_count > accesses.size())
      return Fail(path, "accesses past its end");
    program->ops.push_back(Unpack(op, program->ops.size() + 1));
  }
  for (const FileAccess& access : accesses) {
    program->accesses.push_back(
        {access.begin, access.end, access.mode, static_cast<MemoryKind>(access.memory)});
  }
  return {};
}

}  // namespace ss::bench
