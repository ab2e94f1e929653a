#include "src/import/doing.h"

#include <charconv>
#include <utility>

#include "src/base/demangle.h"

namespace ss {
namespace {

// "void at::native::add_kernel<4, F>(int, F)" -> "add_kernel".
std::string ShortKernel(const std::string& mangled) {
  std::string name = Demangled(mangled.c_str());
  if (name == mangled) return name;
  name = WithoutAnonymous(std::move(name));
  name = name.substr(0, name.find_first_of("<("));
  return name.substr(name.find_last_of(" :") + 1);
}

void SplitSite(const std::string& site, DescribedStack* stack) {
  size_t file = site.find('\n'), line = site.rfind('\n');
  if (file == site.npos || file == line) return;  // not what the plug-in writes
  stack->function = site.substr(0, file);
  stack->file = site.substr(file + 1, line - file - 1);
  std::from_chars(site.data() + line + 1, site.data() + site.size(), stack->line);
}

}  // namespace

StackId Doings::Stack(uint64_t recorded, const Doing& doing) {
  const auto raw = static_cast<StackId>(recorded);
  if (raw >= kFirst || doing == Doing{}) return raw;
  auto [at, fresh] = ids_.try_emplace(StackKey{raw, doing.op, doing.forward, doing.site}, 0);
  if (!fresh) return at->second;
  DescribedStack stack;
  stack.id = at->second = kFirst + static_cast<StackId>(stacks_.size());
  stack.recorded = raw;
  SplitSite(strings_.Get(doing.site), &stack);
  stack.module = strings_.Get(doing.module);
  stacks_.push_back(std::move(stack));
  return at->second;
}

StringId Doings::Name(StringId name, const Doing& doing) {
  if (doing.op == 0) return name;
  auto [at, fresh] = names_.try_emplace(NameKey{name, doing.op, doing.forward}, 0);
  if (!fresh) return at->second;
  std::string text = strings_.Get(doing.op);
  if (doing.forward != 0) text += " (backward of " + strings_.Get(doing.forward) + ")";
  if (name != 0) text += ": " + ShortKernel(strings_.Get(name));
  return at->second = strings_.Intern(text);
}

}  // namespace ss
