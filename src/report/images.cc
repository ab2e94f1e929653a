#include "src/report/images.h"

#include <elfutils/libdwfl.h>

#include <cstdlib>

#include "src/base/demangle.h"
#include "src/report/inlines.h"

namespace ss {
namespace {

// Debug information from the image itself or its separate file under /usr/lib/debug.
// dwfl_standard_find_debuginfo would also ask a debuginfod server where the environment names one:
// a report must not depend on, or tell, a network.
const Dwfl_Callbacks& Callbacks() {
  static const Dwfl_Callbacks callbacks = [] {
    unsetenv("DEBUGINFOD_URLS");
    Dwfl_Callbacks made{};
    made.find_elf = dwfl_build_id_find_elf;
    made.find_debuginfo = dwfl_standard_find_debuginfo;
    made.section_address = dwfl_offline_section_address;
    return made;
  }();
  return callbacks;
}

}  // namespace

// One image, loaded at bias 0, so that frames of all processes that map it share one cache.
class Image {
 public:
  Image(const std::string& path, const std::string& build_id) : path_(path) {
    dwfl_ = dwfl_begin(&Callbacks());
    if (!dwfl_) return;
    dwfl_report_begin(dwfl_);
    module_ = dwfl_report_elf(dwfl_, path.c_str(), path.c_str(), -1, 0, /*add_p_vaddr=*/true);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    if (module_ && !SameBuild(build_id)) module_ = nullptr;
  }
  ~Image() {
    if (dwfl_) dwfl_end(dwfl_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::vector<Frame>& Lookup(uint64_t address) {
    auto [at, fresh] = frames_.try_emplace(address);
    if (fresh) at->second = Resolve(address);
    return at->second;
  }

 private:
  // A file that was rebuilt since the run would give lines that look right and are wrong.
  bool SameBuild(const std::string& build_id) const {
    if (build_id.empty()) return true;
    Elf* elf = dwfl_module_getelf(module_, &bias_);
    const unsigned char* bits = nullptr;
    GElf_Addr where = 0;
    int length = elf ? dwfl_module_build_id(module_, &bits, &where) : 0;
    return length <= 0 || std::string(reinterpret_cast<const char*>(bits), length) == build_id;
  }

  std::vector<Frame> Resolve(uint64_t address) const {
    std::vector<Frame> frames(1);
    Frame& frame = frames.front();
    frame.module = path_;
    frame.offset = address;
    if (!module_ || address == 0) return frames;
    GElf_Addr call = address - 1;  // a return address belongs to the line after the call
    if (const char* name = dwfl_module_addrname(module_, call)) frame.fn = Demangled(name);
    if (Dwfl_Line* line = dwfl_module_getsrc(module_, call)) {
      int number = 0;
      const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
      if (file) frame.file = file;
      if (file) frame.line = static_cast<uint32_t>(number);
    }
    ExpandInlines(module_, call, frames);
    return frames;
  }

  std::string path_;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  mutable GElf_Addr bias_ = 0;
  std::unordered_map<uint64_t, std::vector<Frame>> frames_;
};

ImageCache::ImageCache() = default;
ImageCache::~ImageCache() = default;

Image& ImageCache::Open(const std::string& path, const std::string& build_id) {
  std::unique_ptr<Image>& image = images_[path + '\0' + build_id];
  if (!image) image = std::make_unique<Image>(path, build_id);
  return *image;
}

const std::vector<Frame>& ImageCache::Lookup(const std::string& path, const std::string& build_id,
                                             uint64_t address) {
  return Open(path, build_id).Lookup(address);
}

}  // namespace ss
