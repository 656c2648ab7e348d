// doctest's main() for suites that compute on a device, the stand-in's or a GPU. Without one there is nothing to test.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <doctest/doctest.h>

#include "framework/device.h"

int main(int argc, char** argv) {
  if (const std::string why = unroll::why_no_gpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  unroll::set_device(unroll::device_named("cuda"));
  return doctest::Context(argc, argv).run();
}
