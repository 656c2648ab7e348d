// Runs the examples of the reference, all but gradients.cpp, which is a program in double precision.
#include <cstdio>

#include "docs/reference/examples/examples.h"

int main() try {
  tensors(), tape(), operations(), losses(), recurrent(), layers(), inference();
  optimizers(), data(), training(), files(), reports(), recipes(), exports();
  std::puts("all examples hold");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
