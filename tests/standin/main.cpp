// doctest's main() for suites that compute on a device, the stand-in's or a GPU. Without one there is nothing to test.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include <doctest/doctest.h>

#include "framework/device.h"

int main(int argc, char** argv) {
  const unroll::Device found = unroll::device_named("auto");
  if (!found.gpu) {
    std::printf("skipped: %s\n", unroll::why_no_gpu().c_str());
    return 77;
  }
  unroll::set_device(found);
  return doctest::Context(argc, argv).run();
}
