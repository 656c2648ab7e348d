// What the fuzz targets share. Each defines LLVMFuzzerTestOneInput, which is called with any bytes: by
// libFuzzer, which invents them (./run fuzz), or by replay.cpp, which reads the seeds again in the ordinary
// tests.
//
// What is wrong with a file must come out as an InputError of one line. Everything else (a crash, another
// exception, a broken promise below, memory out of proportion) ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "framework/check.h"

namespace fuzz {

// Ends the process, so that the input is kept.
inline void expect(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// Calls f, which may refuse its input. True if it did not.
template <class F>
bool accepts(F f) {
  try {
    f();
    return true;
  } catch (const unroll::InputError& error) {
    const std::string_view message = error.what();
    expect(!message.empty() && message.find('\n') == message.npos, "an error is one line");
    return false;
  }
}

// Bytes as a file that has a path, in memory.
class File {
 public:
  explicit File(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    expect(descriptor_ >= 0, "a file in memory");
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      expect(written > 0, "a file in memory");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace fuzz
