#include "framework/threads.h"

#include <omp.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "framework/check.h"

namespace unroll {

void set_threads(int count) {
  require_input(count >= 1, "threads: {} given, at least 1 is needed", count);
  omp_set_num_threads(count);
}
int threads() { return omp_get_max_threads(); }

void sleep_while_waiting(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  setenv("GOMP_SPINCOUNT", "10000", 1);
  execv(program.c_str(), argv);  // if that fails, the program goes on, spinning
}

}  // namespace unroll
