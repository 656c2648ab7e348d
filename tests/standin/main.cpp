// doctest's main() for suites over the stand-in: everything is computed on its device.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "framework/device.h"

int main(int argc, char** argv) {
  unroll::set_device(unroll::device_named("cuda"));
  return doctest::Context(argc, argv).run();
}
