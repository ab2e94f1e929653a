#include "src/report/pipeline_ids.h"

#include <fmt/format.h>

#include <initializer_list>

namespace ss {
namespace {

std::string Hashed(std::initializer_list<std::string> parts) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::string& part : parts) {
    for (unsigned char c : part + '\n') hash = (hash ^ c) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::string IdOf(const pipeline::Finding& finding) {
  return Hashed({finding.code, finding.subject, finding.role, finding.other});
}

std::string IdOf(const pipeline::SeenKernel& kernel, const pipeline::SeenFinding& finding) {
  return Hashed({finding.code, kernel.name, finding.role, finding.other});
}

}  // namespace ss
