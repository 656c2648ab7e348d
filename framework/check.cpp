#include "framework/check.h"

#include "framework/one_line.h"

namespace unroll {

Error::Error(const std::string& message) : std::runtime_error(printable(message)) {}

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

void throw_input_error(fmt::string_view format, fmt::format_args args) {
  throw InputError(fmt::vformat(format, args));
}

}  // namespace unroll
