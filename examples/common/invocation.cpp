#include "examples/common/invocation.h"

#include <cstdlib>

namespace unroll {

namespace {
std::string started_as;
}

void remember_invocation(const char* argv0) { started_as = argv0 ? argv0 : ""; }

std::string invocation(const std::string& program) {
  const char* const run = std::getenv("UNROLL_RUN");
  if (run && *run) return std::string(run) + " " + program;
  return started_as.empty() ? program : started_as;
}

}  // namespace unroll
