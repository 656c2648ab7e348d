// Capitals and small letters of UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace unroll {

// The text with small letters for the capitals of Latin, Greek and Cyrillic script. Others stay as they are.
std::string lower_case(std::string_view text);

}  // namespace unroll
