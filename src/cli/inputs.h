// Input files of a command: what was named, directories searched.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"

namespace ss {

bool HasSuffix(const std::string& path, const char* suffix);

// Files are taken as they are; in a directory, at any depth, those that end in one of `suffixes`,
// sorted. Errors: a path that does not exist, nothing found at all.
Result<std::vector<std::string>> FindInputs(const std::vector<std::string>& paths,
                                            const std::vector<const char*>& suffixes);

}  // namespace ss
