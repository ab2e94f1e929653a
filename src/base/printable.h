// What a program chose as a name, fit for a terminal, a page or a line of text.
#pragma once

#include <string>
#include <string_view>

namespace ss {

// Control characters and bytes that are no UTF-8 as \xNN.
std::string Printable(std::string_view text);

}  // namespace ss
