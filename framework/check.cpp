#include "framework/check.h"

#include "framework/one_line.h"

namespace unroll {

// One line that can be shown, whatever names it was given.
static std::string message_of(fmt::string_view format, fmt::format_args args) {
  const std::string text = fmt::vformat(format, args);
  return one_line(text, text.size());
}

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(message_of(format, args)); }

void throw_input_error(fmt::string_view format, fmt::format_args args) {
  throw InputError(message_of(format, args));
}

}  // namespace unroll
