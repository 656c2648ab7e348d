#include "framework/check.h"

namespace unroll {

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

void throw_input_error(fmt::string_view format, fmt::format_args args) {
  throw InputError(fmt::vformat(format, args));
}

}  // namespace unroll
