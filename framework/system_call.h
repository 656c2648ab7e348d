// Calls of the operating system: made again after a signal, and their failures as the kind of error that they are.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

namespace unroll {

// Calls again as long as a signal interrupts the call. For calls that return -1 and set errno.
template <class Call>
auto retried(Call call) {
  for (;;)
    if (const auto result = call(); result != -1 || errno != EINTR) return result;
}

// Throws "<what>: <the system's words><tail>" for a number of errno: InputError where another path or other permissions
// mend it, OutOfMemory where memory was short, Error where the machine failed (disk full, input/output error).
[[noreturn]] void throw_system_error(int error, const std::string& what, const std::string& tail = {});
bool is_for_user(int error);  // the first of the three

// An open file, closed at the end. -1: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const { return number_; }                   // the system's
  explicit operator bool() const { return number_ >= 0; }  // it is open

 private:
  int number_;
};

}  // namespace unroll
