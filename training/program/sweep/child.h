// This program once more, in a process of its own: what it does there, and whether it ends well, is nobody else's affair.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace unroll {

class ChildProcess {
 public:
  // Starts the program that this process is with those words, in that folder. It knows nothing of mpirun. What it prints is
  // added to the file `output`. It gets no Ctrl-C of the terminal's, and SIGTERM when this process ends, however that is.
  // Throws InputError or Error: the folder or the file cannot be used, there are too many processes.
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
