// The options --device and --threads, and what they and a recipe's precision choose.
#pragma once

#include <optional>
#include <string>

#include "training/program/cli/command.h"

namespace unroll {

struct Machine {
  std::string device = "auto";
  int threads = 0;  // 0: as many as there are cores

  void add_to(Command& command);
  // As above, for a run that goes on and has its own.
  void add_to_resumed(Command& command);
  // Once the command has been parsed. Throws InputError: no such number of threads.
  void check(const Command& command) const;
  // Of the processes on this machine each has its part of the cores. None: this one is alone, and no number was given.
  std::optional<int> threads_of_process() const;
  // After the command was parsed, and before there is a tensor (framework/setup.h): all that this process computes with.
  // Throws InputError: what the machine lacks.
  void set_up(const Command& command, const std::string& precision = "fp32") const;
};

// "fp32 on kernels for avx512, 2 threads", "tf32 on NVIDIA H100 (cuda:0)"
std::string describe_machine();

}  // namespace unroll
