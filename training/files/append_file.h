// A file that grows. Its contents stay, whatever happens to the process.
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
  // As above, but the file must be new. Returns nothing if it exists.
  static std::optional<AppendFile> create(const std::filesystem::path& path);

  // Hands the bytes to the system at once, without a buffer: a killed process loses nothing, and readers see whole
  // records. Throws Error if the write fails (disk full, …), after removing a partial write.
  void append(std::string_view bytes);

 private:
  AppendFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

}  // namespace unroll
