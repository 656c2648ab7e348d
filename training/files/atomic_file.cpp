#include "training/files/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/check.h"

namespace unroll {
namespace {

// Beyond the limit of `ulimit -f` write() raises SIGXFSZ, which ends the process, before it fails with EFBIG. While one of
// these lives, the signal is blocked, and then discarded: the limit is an error, like a full disk.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~HoldFileSizeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldFileSizeSignal(const HoldFileSizeSignal&) = delete;
  HoldFileSizeSignal& operator=(const HoldFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

constexpr int most_names = 100;  // of temporary files for one path

Descriptor open_to_write(const std::string& path, int flags) {
  constexpr int always = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  return Descriptor(retried([&] { return open(path.c_str(), always | flags, 0666); }));
}

std::string temporary_name(const std::string& path, int number) {
  return path + ".unroll-partial" + (number > 1 ? fmt::format("-{}", number) : "");
}

bool same_file(int descriptor, const char* path) {
  struct stat open_one, named_one;
  return fstat(descriptor, &open_one) == 0 && stat(path, &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

// True for a file that a killed process left, which may be overwritten. Anything else of that name is somebody else's.
bool is_left_over(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

bool rename_to_new(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  struct stat status;  // a file system that does not know how: as near to it as possible
  if (stat(to, &status) == 0) return errno = EEXIST, false;
  return rename(from, to) == 0;
}

// Renames `from`, which is open as `descriptor`. A call that a signal interrupted may have renamed it all the same.
bool rename_open_file(int descriptor, const char* from, const char* to, bool replace) {
  for (;;) {
    if (replace ? rename(from, to) == 0 : rename_to_new(from, to)) return true;
    if (errno != EINTR) return false;
    if (same_file(descriptor, to)) return true;
  }
}

enum class Taken : uint8_t { yes, no, gone };  // gone: it is another process's finished file now

// Opens a temporary file for this process alone, or reports that another process has it.
Taken take_temporary(const std::string& name, const std::string& path, Descriptor& file) {
  file = open_to_write(name, O_CREAT | O_EXCL);
  const bool is_new = static_cast<bool>(file);
  if (!is_new && errno != EEXIST) throw_system_error(errno, path + ": cannot be written");
  if (!is_new) {
    file = open_to_write(name, 0);
    if (!file && errno == ENOENT) return Taken::gone;
    require_input((file || errno != ELOOP) && (!file || is_left_over(file.number())),
                  "{}: cannot be written: {} is in the way, and is no file that was left half written", path,
                  name);
    if (!file) throw_system_error(errno, path + ": cannot be written", "; " + name + " is in the way");
  }
  const LockResult lock = lock_file(file.number());
  if (lock == LockResult::unsupported) return is_new ? Taken::yes : Taken::no;  // its owner is unknown
  if (lock == LockResult::held) return Taken::no;
  return same_file(file.number(), name.c_str()) ? Taken::yes : Taken::gone;
}

}  // namespace

int write_all(const Descriptor& file, std::string_view bytes) {
  constexpr std::size_t at_most = std::size_t{1} << 30;  // Linux transfers less than 2 GiB at a time
  const HoldFileSizeSignal hold;
  while (!bytes.empty()) {
    const ssize_t written =
        retried([&] { return write(file.number(), bytes.data(), std::min(bytes.size(), at_most)); });
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

LockResult lock_file(int descriptor) {
  if (retried([&] { return flock(descriptor, LOCK_EX | LOCK_NB); }) == 0) return LockResult::taken;
  if (errno == EWOULDBLOCK) return LockResult::held;
  // Any other error comes from the file system, since the arguments are right.
  return LockResult::unsupported;
}

// Names are fixed, so files left by killed processes are used again. A lock tells whether a file's process is still at
// work, since it ends with the process.
AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path.string()) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point patience = Clock::now() + std::chrono::milliseconds(500);
  for (int number = 1; number <= most_names;) {
    temporary_ = temporary_name(path_, number);
    const Taken taken = take_temporary(temporary_, path_, file_);
    if (taken == Taken::yes) {
      if (retried([&] { return ftruncate(file_.number(), 0); }) != 0) fail(errno);
      return;
    }
    file_ = Descriptor();
    if (taken == Taken::gone) continue;
    if (number == 1 && Clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    else
      ++number;
  }
  throw Error(fmt::format("{}: cannot be written: {} others are writing it, or left {} half written", path_,
                          most_names, temporary_name(path_, 1)));
}

void AtomicFile::write(std::string_view bytes) {
  require(static_cast<bool>(file_), "{}: write after commit", path_);
  if (const int error = write_all(file_, bytes)) fail(error);
}

void AtomicFile::commit(bool replace) {
  require(static_cast<bool>(file_), "{}: committed twice", path_);
  if (retried([&] { return fsync(file_.number()); }) != 0) fail(errno);
  if (!rename_open_file(file_.number(), temporary_.c_str(), path_.c_str(), replace)) {
    if (replace || errno != EEXIST) fail(errno);
    discard();
    throw InputError(fmt::format("{}: is there already; nothing is overwritten", path_));
  }
  file_ = Descriptor();  // after the rename: the lock covers it
  // The new name is on the disk only once the folder is.
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const Descriptor folder(retried(
      [&] { return open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  const bool synced = folder && (retried([&] { return fsync(folder.number()); }) == 0 ||
                                 errno == EINVAL);  // EINVAL: not on this file system
  require(synced, "{}: written, but the disk did not confirm it: {}", path_, std::strerror(errno));
}

void AtomicFile::fail(int error) {
  discard();
  struct stat status;
  throw Error(fmt::format(
      "{}: cannot be written: {}{}", path_, std::strerror(error),
      stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? "; it is left as it was" : ""));
}

void AtomicFile::discard() noexcept {
  if (!file_) return;
  unlink(temporary_.c_str());
  file_ = Descriptor();
}

void remove_partial(const std::filesystem::path& path) {
  for (int number = 1; number <= most_names; ++number) {
    const std::string name = temporary_name(path.string(), number);
    const Descriptor file = open_to_write(name, 0);
    if (!file && errno == ENOENT) return;
    // Leave files that another process holds, and those whose owner cannot be known.
    if (!file || !is_left_over(file.number()) || lock_file(file.number()) != LockResult::taken) continue;
    if (same_file(file.number(), name.c_str())) unlink(name.c_str());
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view contents, bool replace) {
  AtomicFile file(path);
  file.write(contents);
  file.commit(replace);
}

void require_new(std::string_view command, const std::string& path, std::string_view option) {
  if (path.empty()) return;
  std::error_code error;  // which writing says
  require_input(!std::filesystem::exists(path, error),
                "{}: {} is there already; nothing is overwritten (--{} FILE names another)", command, path, option);
  const AtomicFile can_be_written(path);
}

// --- files that grow -----------------------------------------------------------------------------------------

AppendFile::AppendFile(const std::filesystem::path& path) : path_(path.string()) {
  (void)has_own_file(path);  // throws if its name is taken by something else
  file_ = open_to_write(path_, O_CREAT | O_APPEND);
  if (!file_) throw_system_error(errno, path_ + ": cannot be written");
}

std::optional<AppendFile> AppendFile::create(const std::filesystem::path& path) {
  Descriptor file = open_to_write(path.string(), O_CREAT | O_APPEND | O_EXCL);
  if (!file && errno == EEXIST) return {};
  if (!file) throw_system_error(errno, path.string() + ": cannot be written");
  return AppendFile(path.string(), std::move(file));
}

void AppendFile::sync() {
  if (retried([&] { return fsync(file_.number()); }) != 0)
    throw_system_error(errno, path_ + ": cannot be written");
}

void AppendFile::append(std::string_view bytes) {
  const off_t end = lseek(file_.number(), 0, SEEK_END);
  if (const int error = write_all(file_, bytes)) {
    const bool whole = end >= 0 && retried([&] { return ftruncate(file_.number(), end); }) == 0;
    throw Error(fmt::format("{}: cannot be written: {}{}", path_, std::strerror(error),
                            whole ? "; what stood in it before is whole" : ""));
  }
}

}  // namespace unroll
