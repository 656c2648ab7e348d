#include "framework/system_call.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <unistd.h>

#include "framework/check.h"

namespace unroll {

bool is_for_user(int error) {
  static constexpr std::array mended_by_user = {ENOENT, EACCES,       EPERM,    ENOTDIR, EISDIR,
                                                EEXIST, ENAMETOOLONG, ELOOP,    EROFS,   EINVAL,
                                                ENXIO,  ENODEV,       ENOTEMPTY};
  return std::ranges::find(mended_by_user, error) != mended_by_user.end();
}

void throw_system_error(int error, const std::string& what, const std::string& tail) {
  const std::string text = fmt::format("{}: {}{}", what, std::strerror(error), tail);
  if (error == ENOMEM) throw OutOfMemory(text);
  if (is_for_user(error)) throw InputError(text);
  throw Error(text);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

}  // namespace unroll
