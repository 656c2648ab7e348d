// What a command says, and where: results, and what is not to be said when quiet.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace unroll {

struct Voice {
  std::FILE* out = stdout;
  bool quiet = false;

  // A result. A terminal or a pipe that is gone ends nothing: std::ferror(out) remembers that words were lost.
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    std::fwrite(text.data(), 1, text.size(), out);
    std::fflush(out);
  }
  // The rest.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!quiet) tell(format, std::forward<Args>(args)...);
  }
};

}  // namespace unroll
