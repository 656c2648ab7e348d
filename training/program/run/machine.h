// The options --device and --threads, and what they choose.
#pragma once

#include <string>

#include "training/program/cli/command.h"

namespace unroll {

struct Machine {
  std::string device = "auto";
  int threads = 0;  // 0: as many as there are cores

  void add_to(Command& command);
  // As above, for a run that goes on and has its own.
  void add_to_resumed(Command& command);
  // After the command was parsed, and before there is a model. Throws InputError: what the machine lacks.
  void use(const Command& command) const;
};

// "fp32 on kernels for avx512, 2 threads", "tf32 on NVIDIA H100 (cuda:0)"
std::string describe_machine(const std::string& precision);

}  // namespace unroll
