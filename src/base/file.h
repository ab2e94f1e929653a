// Whole files as strings. Refused by name: folders, devices and pipes, which may never end.
#pragma once

#include <string>

#include "src/base/result.h"

namespace ss {

Result<std::string> ReadBytes(const std::string& path);
// Without the byte-order mark that some editors put first.
Result<std::string> ReadText(const std::string& path);

}  // namespace ss
