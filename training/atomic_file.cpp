#include "training/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "framework/check.h"
#include "training/file_size_signal.h"

namespace unroll {
namespace {

bool same_file(int descriptor, const char* path) {
  struct stat open_one, named_one;
  return fstat(descriptor, &open_one) == 0 && stat(path, &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

bool rename_to_new(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  struct stat status;  // a file system that does not know how: as near to it as possible
  if (stat(to, &status) == 0) return errno = EEXIST, false;
  return rename(from, to) == 0;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path.string()), temporary_(path_ + ".unroll-partial") {
  // A fixed name, so that what a killed process left behind is used again. The lock tells a process that is
  // still at work from one that is gone; it goes with the process.
  for (;;) {
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail(errno);
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(std::exchange(descriptor_, -1));
      throw Error(fmt::format("{}: another process is writing this file", path_));
    }
    if (same_file(descriptor_, temporary_.c_str())) break;
    close(std::exchange(descriptor_,
                        -1));  // renamed between open and lock: it is the other's finished file now
  }
  if (ftruncate(descriptor_, 0) != 0) fail(errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(const void* data, std::size_t bytes) {
  require(descriptor_ >= 0, "{}: write after commit", path_);
  constexpr std::size_t at_most = std::size_t{1} << 30;  // Linux transfers less than 2 GiB at a time
  const HoldFileSizeSignal hold;
  for (const char* next = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::write(descriptor_, next, std::min(bytes, at_most));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written < 0 ? errno : ENOSPC);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit(bool replace) {
  require(descriptor_ >= 0, "{}: committed twice", path_);
  if (fsync(descriptor_) != 0) fail(errno);
  const bool renamed = replace ? rename(temporary_.c_str(), path_.c_str()) == 0
                               : rename_to_new(temporary_.c_str(), path_.c_str());
  if (!renamed && !replace && errno == EEXIST) {
    discard();
    throw Error(fmt::format("{}: is there already; nothing is overwritten", path_));
  }
  if (!renamed) fail(errno);
  const bool closed = close(std::exchange(descriptor_, -1)) == 0;  // after the rename: the lock covers it
  // The new name itself is on the disk only when the folder is.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced =
      descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);  // EINVAL: not on this file system
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  require(closed && synced, "{}: written, but the disk did not confirm it: {}", path_, std::strerror(error));
}

void AtomicFile::fail(int error) {
  discard();
  struct stat status;
  throw Error(fmt::format(
      "{}: cannot be written: {}{}", path_, std::strerror(error),
      stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? "; it is left as it was" : ""));
}

void AtomicFile::discard() noexcept {
  if (descriptor_ < 0) return;
  unlink(temporary_.c_str());
  close(std::exchange(descriptor_, -1));
}

void remove_partial(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path.string() + ".unroll-partial", error)) AtomicFile{path};
}

void write_file_atomically(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

void write_new_file(const std::filesystem::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit(false);
}

}  // namespace unroll
