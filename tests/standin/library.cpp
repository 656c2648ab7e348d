// The stand-ins' functions are found among the program's own instead of in NVIDIA's libraries.
#include <utility>

#include <dlfcn.h>

#include "framework/check.h"
#include "framework/kernels/cuda/libraries.h"
#include "tests/standin/standin.h"

namespace unroll::gpu {

Library::Library(std::string name) : name_(std::move(name)) {
  const std::string& hidden = standin::control().missing_library;
  if (!hidden.empty() && name_.find(hidden) != std::string::npos)
    missing_ = name_ + ": cannot open shared object file: No such file or directory";
}

Library::Symbol Library::operator[](const char* function) const {
  if (!missing_.empty()) throw Error(missing_);
  void* address = dlsym(RTLD_DEFAULT, function);
  require(address, "{} has no function {}: another version of it is needed", name_, function);
  return Symbol(address);
}

}  // namespace unroll::gpu
