#include "training/program/run/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/one_line.h"
#include "framework/processes/processes.h"
#include "framework/setup.h"
#include "framework/threads.h"

namespace unroll {

namespace {
constexpr const char *devices = "auto|cpu|cuda[:N]",
                     *of_device = "the device to compute on; auto: a GPU if one can, else the CPU";
}

void Machine::add_to(Command& command) {
  command.option("device", device, devices, of_device);
  command.option("threads", threads, "N", "threads that compute on the CPU, at most")
      .otherwise("one per core");
}

void Machine::add_to_resumed(Command& command) {
  command.option("device", device, devices, of_device).otherwise("where it was");
  command.option("threads", threads, "N", "threads that compute on the CPU, at most")
      .otherwise("as many as it had");
}

void Machine::check(const Command& command) const {
  require_input(!command.given("threads") || (threads >= 1 && threads <= most_threads),
                "{}: --threads {}: from 1 to {} can share the work", command.name(), threads, most_threads);
}

std::optional<int> Machine::threads_of_process() const {
  if (threads != 0) return threads;
  if (process_count() == 1) return {};
  return std::clamp(local_processes().cores / local_processes().processes, 1, most_threads);
}

void Machine::set_up(const Command& command, const std::string& precision) const {
  check(command);
  unroll::set_up({.device = device,
                  .process = local_processes().number,
                  .threads = threads_of_process(),
                  .precision = precision});
}

std::string describe_machine() {
  const char* numbers = name_of(precision());
  if (on_gpu()) return fmt::format("{} on {} ({})", numbers, device_facts().name, name_of(device()));
  return fmt::format("{} on kernels for {}, {} thread{}", numbers, kernels().name, threads(),
                     plural(threads()));
}

}  // namespace unroll
