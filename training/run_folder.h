// The folder that a run writes into. A folder that another run has written to is refused.
#pragma once

#include <filesystem>
#include <string_view>

#include "framework/system_call.h"

namespace unroll {

// Creates and returns the folder of a new run: `out`, or if that is empty the next "<parent>/<name>-<n>", n counting
// from 1. Throws InputError if `out` is a file, cannot be created, or is not empty. Files of a process that was killed
// before its run began do not count: start.json, and unfinished start.json, recipe.toml and sweep.json.
std::filesystem::path create_run_folder(const std::filesystem::path& out, std::string_view name,
                                        const std::filesystem::path& parent = "runs");

// Also creates missing parent folders. Throws InputError if that fails.
void create_folder(const std::filesystem::path& folder);

// A lock on a run's folder, for one process at a time. Throws InputError if another process has it, or there is no such folder.
// On a file system without locks the file run.lock stands in for one and names the process that made it. A killed process
// leaves it behind: if that ran on this machine, the next one sees that it is gone; otherwise the user is asked to delete it.
class RunFolderLock {
 public:
  explicit RunFolderLock(const std::filesystem::path& folder);
  ~RunFolderLock();
  RunFolderLock(const RunFolderLock&) = delete;
  RunFolderLock& operator=(const RunFolderLock&) = delete;
  const std::filesystem::path& stand_in() const { return lock_file_; }  // empty: the file system has locks

 private:
  Descriptor folder_;
  std::filesystem::path lock_file_;
};

// Throws InputError if a name of a run's files is taken by something other than a file: a link, a folder, a pipe. So a
// run neither reads nor writes outside of its folder.
void check_run_files(const std::filesystem::path& folder);

// Throws what create_run_folder would throw for `out`, but creates nothing: a check before a long preparation.
void check_run_folder(const std::filesystem::path& out);

}  // namespace unroll
