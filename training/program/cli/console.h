// A command's output: results, and lines that --quiet drops.
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

// Prints for people: names from files, folders and models cannot act on the terminal.
template <class... Args>
void show(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = printable(fmt::format(format, std::forward<Args>(args)...), "\n\t");
  std::fwrite(text.data(), 1, text.size(), out);  // std::ferror(out) remembers that words were lost
}
template <class... Args>
void show(fmt::format_string<Args...> format, Args&&... args) {
  show(stdout, format, std::forward<Args>(args)...);
}

// A path for use in a line.
inline std::string shown(const std::filesystem::path& path) { return printable(path.string()); }

// Prints data for another program or a file: unchanged there, and as show() on a terminal.
void show_data(std::string_view text);

struct Console {
  std::FILE* out = stdout;
  bool quiet = false;

  // Prints a result. A closed terminal or pipe ends nothing: std::ferror(out) remembers that output was lost.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    show(out, format, std::forward<Args>(args)...);
    std::fflush(out);
  }
  // Prints a table, fitted to the terminal if there is one.
  void print(const RunDescription::Table& table) const {
    print("{}", table_text(table, terminal_columns(out, table_columns)));
  }
  // Prints a line unless `quiet`.
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (!quiet) print(format, std::forward<Args>(args)...);
  }
};

}  // namespace unroll
