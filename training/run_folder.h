// The folder that a run writes into. Never into a folder that another run has written to.
#pragma once

#include <filesystem>
#include <string_view>

#include "framework/system_call.h"

namespace unroll {

// Creates and returns the folder of a new run: `out`, or if that is empty the next "<parent>/<name>-<n>", n
// counting from 1. Throws InputError: `out` is a file, cannot be created, or has something in it, other than what
// a process left that was killed before its run began: start.json, or what was to become it, recipe.toml or sweep.json.
std::filesystem::path create_run_folder(const std::filesystem::path& out, std::string_view name,
                                        const std::filesystem::path& parent = "runs");

// With the folders above it, where they are missing. Throws InputError: it cannot be created.
void create_folder(const std::filesystem::path& folder);

// While it lives, no other process can have one for the same folder. Throws InputError if another has it, or
// there is no such folder.
//
// Some file systems have no locks. There the file run.lock takes their place, which says which process made it: without any lock
// two processes could train in one folder, and each would overwrite the other's checkpoints. A process that was killed
// leaves it. If it ran on this machine, the next one sees that it is gone; else the user is asked to delete the file.
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

// Throws InputError where something else than a file has the name of one of a run's files: a link, a folder, a pipe. A run
// neither reads nor writes what lies outside of its folder.
void check_run_files(const std::filesystem::path& folder);

// Throws what create_run_folder would throw for `out`, without creating it: to say so before a long
// preparation.
void check_run_folder(const std::filesystem::path& out);

}  // namespace unroll
