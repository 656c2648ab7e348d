#include "training/program/cli/console.h"

#include <unistd.h>

namespace unroll {

void show_data(std::string_view text) {
  const std::string shown = isatty(STDOUT_FILENO) ? printable(text, "\n\t\u00a0\u202f") : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

}  // namespace unroll
