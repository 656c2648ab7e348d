// Files that are written whole or not at all.
//
// The contents go to a temporary file in the same folder, to the disk, and then take the place of the old
// file in one step. If anything fails, the old file stays as it was and the temporary one is removed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace unroll {

class AtomicFile {
 public:
  // Opens "<path>.unroll-partial". Throws Error if that cannot be done, or another process is writing it.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();  // without commit(): removes the temporary file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws Error: disk full, limit of the file's size, …
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Waits until the disk has it, and renames: also where there is such a file, unless `replace` is false, which makes that
  // an Error ("is there already"), as everything else that goes wrong.
  void commit(bool replace = true);

 private:
  [[noreturn]] void fail(int error);
  void discard() noexcept;
  std::string path_, temporary_;
  int descriptor_ = -1;
};

// Removes what a process that was killed while it wrote `path` has left. Throws Error if that cannot be done, or another is
// writing it now.
void remove_partial(const std::filesystem::path& path);

void write_file_atomically(const std::filesystem::path& path, std::string_view contents);
// The same of a file that must not be there, whoever else is about to make it.
void write_new_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace unroll
