// The options --device and --threads. Sets up the process with them and a recipe's precision.
#pragma once

#include <optional>
#include <string>

#include "training/program/cli/command.h"

namespace unroll {

struct Machine {
  std::string device = "auto";
  int threads = 0;  // 0: as many as there are cores

  void add_to(Command& command);
  // As above, for a resumed run, which keeps its own settings by default.
  void add_to_resumed(Command& command);
  // Requires: the command has been parsed. Throws InputError if the number of threads is invalid.
  void check(const Command& command) const;
  // Each process on this machine gets an equal part of the cores. Empty if this process is alone, and no number was
  // given.
  std::optional<int> threads_of_process() const;
  // Sets up everything that this process computes with. Requires: the command has been parsed, and no tensor exists yet
  // (framework/setup.h). Throws InputError if the machine lacks something.
  void set_up(const Command& command, const std::string& precision = "fp32") const;
};

// "fp32 on kernels for avx512, 2 threads", "tf32 on NVIDIA H100 (cuda:0)"
std::string describe_machine();

}  // namespace unroll
