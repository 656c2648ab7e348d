// Has a program that knows nothing of it compute on the stand-in's device. Linked with --wrap=main.
#include "framework/device.h"

extern "C" int __real_main(int argc, char** argv);
extern "C" int __wrap_main(int argc, char** argv);
int __wrap_main(int argc, char** argv) {
  unroll::set_device(unroll::device_named("cuda"));
  return __real_main(argc, argv);
}
