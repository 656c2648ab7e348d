// A file that grows: what was written stays, whatever happens to the process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "framework/system_call.h"

namespace unroll {

class AppendFile {
 public:
  // Opens the file at its end; creates it if there is none. A link is not followed. Throws InputError or Error.
  explicit AppendFile(const std::filesystem::path& path);
  // As above for a file that must not exist; none if it does.
  static std::optional<AppendFile> create(const std::filesystem::path& path);

  // Handed to the system at once, without a buffer between: a process that is killed loses nothing, and a
  // reader sees whole records. Throws Error: disk full, … What was written by half is then taken back.
  void append(std::string_view bytes);

 private:
  AppendFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

}  // namespace unroll
