// Errors: what is thrown, and the one way to demand something.
//
// A message is one line in the words of the person who reads it: the operation or the file and line,
// what must hold, and what was given.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace unroll {

// Something went wrong while running. Programs exit with 1.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The user gave something that cannot be used: a file, a key, an option. Programs exit with 2.
struct InputError : Error {
  using Error::Error;
};

// Memory was not to be had. Programs exit with 3.
struct OutOfMemory : Error {
  using Error::Error;
};

// Throws Error unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Throws InputError unless `condition` holds.
template <class... Args>
void require_input(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]] throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace unroll
