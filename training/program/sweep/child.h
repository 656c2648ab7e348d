// Starts this program again as a child process, so that a failed trial cannot end the sweep.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace unroll {

class ChildProcess {
 public:
  // Starts this process's program with those words, in that folder, without mpirun's environment. Its output is appended to the
  // file `output`. The terminal's Ctrl-C does not reach it; it gets SIGTERM when this process ends, however that is. Throws
  // InputError or Error: the folder or the file cannot be used, there are too many processes.
  ChildProcess(const std::vector<std::string>& words, const std::filesystem::path& directory,
               const std::filesystem::path& output);
  ~ChildProcess();  // asks it to end, by SIGTERM, and waits until it has
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Once it has ended: its exit code, or minus the signal that ended it. Does not wait.
  std::optional<int> ended();

 private:
  std::optional<int> wait(int options);
  pid_t process_ = -1;
  std::optional<int> code_;
};

}  // namespace unroll
