#include "bench/process.h"

#ifdef __linux__
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <time.h>
#include <unistd.h>
#endif

double seconds_since_start() {
#ifdef __linux__
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(
      text.substr(text.rfind(')') + 1));  // the program's name before it may hold anything
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }  // the 22nd: ticks from the machine's start to the process's
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) -
         std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
#else
  return 0;
#endif
}

int64_t resident_memory() {
#ifdef __linux__
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
#else
  return 0;
#endif
}
