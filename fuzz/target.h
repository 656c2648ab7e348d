// Shared by the fuzz targets. Each defines LLVMFuzzerTestOneInput, which is called with any bytes: by libFuzzer,
// which invents them (./run fuzz), or by replay.cpp, which reads the seeds again in the ordinary tests.
//
// A faulty file must be refused with an InputError of one line. Everything else (a crash, another exception, a broken
// promise below, memory out of proportion) ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/check.h"
#include "tests/folder.h"

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
    expect(!message.empty(), "an error says something");
    for (const unsigned char c : message) expect(c >= 32 && c != 127, "an error is one line of text");
    return false;
  }
}

// A folder of this process; it goes away when the process ends in order.
inline const Folder& folder() {
  const bool memory = std::filesystem::is_directory("/dev/shm");  // else most of the time goes to the disk
  static const Folder made(memory ? std::filesystem::path("/dev/shm")
                                  : std::filesystem::temp_directory_path());
  return made;
}

// Bytes as a file of that folder. Its path.
inline std::filesystem::path file(const std::filesystem::path& name, std::string_view bytes) {
  return folder().write(name, bytes);
}

}  // namespace fuzz
