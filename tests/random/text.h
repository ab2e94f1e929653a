// Programs as lines of litmus text, the form in which they are made, repaired and shrunk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/litmus/litmus.h"

namespace ss::random {

using Lines = std::vector<std::string>;

std::string Join(const Lines& lines);

// A kernel of this name that is launched with "pdl_wait" touches the first of its accesses before
// it waits: what litmus files have no word for.
constexpr char kEarly[] = "_early";

// The program of these lines, or null with the parser's message in `error`.
std::unique_ptr<Program> Parse(const Lines& lines, std::string* error = nullptr);

}  // namespace ss::random
