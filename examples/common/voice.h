// What a command says, and where: results, and what is not to be said when quiet.
#pragma once

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace unroll {

struct Voice {
  std::FILE* out = stdout;
  bool quiet = false;

  // A result.
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print(out, format, std::forward<Args>(args)...);
    std::fflush(out);
  }
  // The rest.
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!quiet) tell(format, std::forward<Args>(args)...);
  }
};

}  // namespace unroll
