// Errors: what is thrown, and the one way to demand something.
//
// A message is one line in the words of the person who reads it: the operation or the file and line,
// what must hold, and what was given.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace unroll {

// Something went wrong while running. Programs exit with 1.
struct Error : std::runtime_error {
  explicit Error(const std::string& message);  // one line, whatever names are in it (one_line.cpp)
};

// The user gave something that cannot be used: a file, a key, an option. Programs exit with 2.
struct InputError : Error {
  using Error::Error;
};

// Memory was not to be had. Programs exit with 3.
struct OutOfMemory : Error {
  using Error::Error;
};

// A GPU, or a library that computes on it, has failed.
struct DeviceError : Error {
  using Error::Error;
};

// throw_error, throw_input_error: out of line, so that a check costs its caller little.
[[noreturn]] void throw_error(fmt::string_view format, fmt::format_args args);
[[noreturn]] void throw_input_error(fmt::string_view format, fmt::format_args args);

// Throws Error unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_error(format, fmt::make_format_args(args...));
}

// Throws InputError unless `condition` holds.
template <class... Args>
void require_input(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    throw_input_error(format, fmt::make_format_args(args...));
}

}  // namespace unroll
