// A file that grows: what was written stays, whatever happens to the process.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace unroll {

class AppendFile {
 public:
  // Opens the file at its end; creates it if there is none. Throws Error.
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  // Handed to the system at once, without a buffer between: a process that is killed loses nothing, and a
  // reader sees whole records. Throws Error: disk full, … What was written by half is then taken back.
  void append(std::string_view bytes);

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace unroll
