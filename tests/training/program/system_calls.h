// Starting programs whose system calls are written down, and made to fail (tests/training/program/system_calls.cpp).
#pragma once

#include <string>
#include <vector>

#include "tests/environment.h"
#include "tests/program.h"

// While it lives, the programs that a test starts run over the library. `faults` says which calls fail, without being made:
// "fsync=EINTR*2" the first two of a process, "flock=ENOSYS" all. Calls are fsync, fdatasync, flock, rename, renameat2 and
// pthread_create, and tests/training/program/system_calls.cpp knows the errors. `lost`: a file that is gone as soon as a rename
// gives something this name.
class SystemCalls {
 public:
  explicit SystemCalls(const std::string& faults = {}, const std::string& lost = {})
      : faults_("SYSTEM_CALLS_FAIL", faults.c_str()), lost_("SYSTEM_CALLS_LOSE", lost.c_str()) {}

  // The calls so far: "fsync FILE", "rename FROM TO", every path absolute.
  std::vector<std::string> made() const {
    return std::filesystem::exists(file_) ? lines_of(read_text(file_)) : std::vector<std::string>{};
  }

 private:
  // The loader takes the library before all others, which the address sanitizer's own library would complain of.
  static std::string with_sanitizer() {
    const char* options = std::getenv("ASAN_OPTIONS");
    return (options ? std::string(options) + ":" : "") + "verify_asan_link_order=0";
  }
  static const char* library() {
    const char* path = std::getenv("UNROLL_SYSTEM_CALLS");
    REQUIRE_MESSAGE(path, "UNROLL_SYSTEM_CALLS names no library");
    return path;
  }

  Folder folder_;
  std::filesystem::path file_ = folder_ / "calls";
  EnvironmentVariable log_{"SYSTEM_CALLS_LOG", file_.c_str()};
  EnvironmentVariable faults_, lost_;
  EnvironmentVariable sanitizer_{"ASAN_OPTIONS", with_sanitizer().c_str()};
  EnvironmentVariable preload_{"LD_PRELOAD", library()};
};
