// A command's output: results, and lines that --quiet leaves out.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/one_line.h"
#include "training/report/progress.h"
#include "training/report/run_description.h"

namespace unroll {

// Prints for people to read: no name out of a file, a folder or a model acts on their terminal.
template <class... Args>
void show(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = printable(fmt::format(format, std::forward<Args>(args)...), "\n\t");
  std::fwrite(text.data(), 1, text.size(), out);  // std::ferror(out) remembers that words were lost
}
template <class... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
  show(stdout, format, std::forward<Args>(args)...);
}

// A path as it stands in a line.
inline std::string shown(const std::filesystem::path& path) { return printable(path.string()); }

// Prints what is data for another program or a file: to them as it is, and on a terminal as show() does.
void show_data(std::string_view text);

struct Console {
  std::FILE* out = stdout;
  bool quiet = false;

  // A result. A terminal or a pipe that is gone ends nothing: std::ferror(out) remembers that words were lost.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    show(out, format, std::forward<Args>(args)...);
    std::fflush(out);
  }
  // Fitted to the terminal, where there is one.
  void print(const RunDescription::Table& table) const {
    print("{}", table_text(table, terminal_columns(out, table_columns)));
  }
  // The rest.
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (!quiet) print(format, std::forward<Args>(args)...);
  }
};

}  // namespace unroll
