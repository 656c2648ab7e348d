// Text from a file, made fit to stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace unroll {

// Without control characters, and not longer than `at_most` bytes and an ellipsis.
inline std::string one_line(std::string_view text, std::size_t at_most = 60) {
  std::string result(text.substr(0, at_most));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return text.size() > at_most ? result + "..." : result;
}

}  // namespace unroll
