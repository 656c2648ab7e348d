#include "framework/kernels/cuda/libraries.h"

#include <utility>

#include <dlfcn.h>

#include "framework/check.h"

namespace unroll::gpu {

Library::Library(std::string name)
    : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_) return;
  const char* why = dlerror();
  missing_ = why ? why : name_ + " cannot be opened";
#ifdef UNROLL_CUDA_LIBRARIES
  handle_ = dlopen((UNROLL_CUDA_LIBRARIES "/" + name_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) missing_.clear();
#endif
}

Library::Symbol Library::operator[](const char* function) const {
  if (!handle_) throw Error(missing_);
  void* address = dlsym(handle_, function);
  require(address, "{} has no function {}: another version of it is needed", name_, function);
  return Symbol(address);
}

}  // namespace unroll::gpu
