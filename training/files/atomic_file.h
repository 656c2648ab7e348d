// Files that are written whole or not at all, and files that grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "framework/system_call.h"

namespace unroll {

// A file that is written whole or not at all. The contents go to a temporary file in the same folder and to the disk, and
// then replace the old file in one step. If anything fails, the old file stays as it was and the temporary one is removed.
class AtomicFile {
 public:
  // Opens "<path>.unroll-partial". If another process is writing that, waits for at most half a second and then takes
  // another name ("…-2"). Two writers each write a whole file, and the last to finish wins. Throws InputError or Error
  // if no temporary file can be opened.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile() { discard(); }  // without commit(): removes the temporary file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws Error if the write fails: disk full, limit of the file's size, …
  void write(std::string_view bytes);
  void write(const void* data, std::size_t bytes) { write({static_cast<const char*>(data), bytes}); }
  // Waits until the contents are on the disk, then renames. Replaces an existing file; if `replace` is false, that is
  // an Error ("is there already"). Every other failure is an Error too.
  void commit(bool replace = true);

 private:
  [[noreturn]] void fail(int error);
  void discard() noexcept;
  std::string path_, temporary_;
  Descriptor file_;
};

// A file that grows. Its contents stay, whatever happens to the process.
class AppendFile {
 public:
  // Opens the file at its end; creates it if there is none. A link is not followed. Throws InputError or Error.
  explicit AppendFile(const std::filesystem::path& path);
  // As above, but the file must be new. Returns nothing if it exists.
  static std::optional<AppendFile> create(const std::filesystem::path& path);

  // Hands the bytes to the system at once, without a buffer: a killed process loses nothing, and readers see whole
  // records. Throws Error if the write fails (disk full, …), after removing a partial write.
  void append(std::string_view bytes);
  void sync();  // waits until they are on the disk. Throws Error

 private:
  AppendFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

// Writes all bytes. Returns 0, or the number in errno of the failure that ended it: a disk or a limit (`ulimit -f`) that is full.
int write_all(const Descriptor& file, std::string_view bytes);

// lock_file: locks a file without waiting. The lock belongs to this process and ends with the descriptor. Some file systems have
// no locks.
enum class LockResult : uint8_t { taken, held, unsupported };
LockResult lock_file(int descriptor);

// Removes temporary files that killed processes left beside `path`. Keeps those that a process is writing now.
void remove_partial(const std::filesystem::path& path);

// An AtomicFile with these contents. Throws as that does.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents, bool replace = true);
// As above, but the file must not exist, even if another process creates it meanwhile.
inline void write_new_file(const std::filesystem::path& path, std::string_view contents) {
  write_file_atomically(path, contents, false);
}
// Early check, before a command computes its output: throws InputError if `path` exists, Error if it cannot be written.
// Does nothing if `path` is empty. `option` names the file.
void require_new(std::string_view command, const std::string& path, std::string_view option = "out");

}  // namespace unroll
