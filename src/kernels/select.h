// What the driver makes of an image on a device of one architecture: the cubin that fits, or the
// PTX that it compiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/kernels/modules.h"

namespace ss::kernels {

struct Selection {
  std::vector<ModuleImage> modules;
  // The image has PTX only. `modules` then hold what ptxas made of it here: the driver's own
  // compiler may have made other machine code.
  bool recompiled = false;
  std::vector<std::string> notes;  // entries that cannot be read
};

// `arch`: compute capability of the device, 10 * major + minor; 0 = unknown, then the newest cubin.
// The driver's rule: a cubin of the same major version and no newer minor one (CUDA C++ Programming
// Guide, binary compatibility), the newest of those; else the newest PTX that is not newer than the
// device. Errors: nothing fits, it is damaged, or it is PTX and there is no ptxas.
Result<Selection> SelectModules(std::string_view image, int arch, const std::string& place);

}  // namespace ss::kernels
