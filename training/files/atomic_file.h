// Files that are written whole or not at all.
//
// The contents go to a temporary file in the same folder, to the disk, and then take the place of the old
// file in one step. If anything fails, the old file stays as it was and the temporary one is removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/system_call.h"

namespace unroll {

class AtomicFile {
 public:
  // Opens "<path>.unroll-partial". Waits for another process that is writing it, half a second at most, and then takes
  // another name ("…-2"): of two writers each has its file whole, and the last to finish has its own in place. Throws
  // InputError or Error if it cannot be opened.
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
  Descriptor file_;
};

// A lock for this process alone, which goes with the descriptor, without waiting. Some file systems have none.
enum class LockResult : uint8_t { taken, held, unsupported };
LockResult lock_file(int descriptor);

// Removes what processes that were killed while they wrote `path` have left, but not what another is writing now.
void remove_partial(const std::filesystem::path& path);

void write_file_atomically(const std::filesystem::path& path, std::string_view contents);
// As above for a file that must not exist yet, also if another process is about to make it.
void write_new_file(const std::filesystem::path& path, std::string_view contents);
// Asks early, before a command computes what it will write: InputError if there is a file `path`, Error if it cannot be written.
// An empty path asks nothing.
void require_new(std::string_view command, const std::string& path);

}  // namespace unroll
