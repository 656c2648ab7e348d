// A library for LD_PRELOAD: it writes down the system calls of a program and makes chosen ones fail. tests/training/program/system_calls.h
// starts programs with it and says what the three variables of the environment hold.
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

namespace {

struct NamedError {
  const char* name;
  int number;
};
constexpr std::array<NamedError, 9> errors = {{{"EAGAIN", EAGAIN},
                                               {"EINTR", EINTR},
                                               {"EINVAL", EINVAL},
                                               {"EIO", EIO},
                                               {"ENOLCK", ENOLCK},
                                               {"ENOMEM", ENOMEM},
                                               {"ENOSPC", ENOSPC},
                                               {"ENOSYS", ENOSYS},
                                               {"EOPNOTSUPP", EOPNOTSUPP}}};

// A call that this library stands in front of.
struct Call {
  const char* name;
  std::atomic<int> made = 0;

  // The system's own function.
  template <class F>
  F* real() const {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  }

  // The error that this call is to end with, 0 for none: of "fsync=EINTR*2,flock=ENOSYS" that of this name, for its first
  // calls or for all of them.
  int fault() {
    const int before = made++;
    const char* rule = std::getenv("SYSTEM_CALLS_FAIL");
    const std::size_t length = std::strlen(name);
    for (; rule && *rule; rule = std::strchr(rule, ',') ? std::strchr(rule, ',') + 1 : nullptr) {
      if (std::strncmp(rule, name, length) != 0 || rule[length] != '=') continue;
      const char* const text = rule + length + 1;
      const std::size_t size = std::strcspn(text, "*,");
      if (text[size] == '*' && before >= std::atoi(text + size + 1)) return 0;
      for (const NamedError& error : errors)
        if (std::strlen(error.name) == size && std::strncmp(error.name, text, size) == 0) return error.number;
      std::fprintf(stderr, "SYSTEM_CALLS_FAIL: no error of this name: %s\n", text);
      std::_Exit(125);
    }
    return 0;
  }
};

using Path = std::array<char, PATH_MAX>;

Path path_of(int descriptor) {
  Path link, path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  if (readlink(link.data(), path.data(), path.size() - 1) < 0) path[0] = '?';
  return path;
}

Path absolute(const char* path) {
  Path result{};
  if (path[0] != '/' && getcwd(result.data(), result.size() - 1)) std::strcat(result.data(), "/");
  std::strncat(result.data(), path, result.size() - std::strlen(result.data()) - 1);
  return result;
}

// A line of the log: the call and its files. Written at once, so that it stands there whatever happens next.
void log(const Call& call, const Path& first, const Path& second = {}) {
  const char* const file = std::getenv("SYSTEM_CALLS_LOG");
  if (!file) return;
  std::array<char, 3 * PATH_MAX> line;
  const int size = std::snprintf(line.data(), line.size(), "%s %s%s%s\n", call.name, first.data(),
                                 second[0] ? " " : "", second.data());
  const int log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || ::write(log, line.data(), static_cast<std::size_t>(size)) != size) std::_Exit(125);
  ::close(log);
}

int failed(int error) {
  errno = error;
  return -1;
}

// Plays the worst that another program may do at any time: a file is gone as soon as it has its name.
int lost(int result, const char* path) {
  const char* const name = std::getenv("SYSTEM_CALLS_LOSE");
  const char* const slash = std::strrchr(path, '/');
  if (result == 0 && name && std::strcmp(slash ? slash + 1 : path, name) == 0) unlink(path);
  return result;
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
  static Call call{"fsync"};
  log(call, path_of(descriptor));
  const int error = call.fault();
  return error ? failed(error) : call.real<int(int)>()(descriptor);
}

int fdatasync(int descriptor) {
  static Call call{"fdatasync"};
  log(call, path_of(descriptor));
  const int error = call.fault();
  return error ? failed(error) : call.real<int(int)>()(descriptor);
}

int flock(int descriptor, int operation) noexcept {
  static Call call{"flock"};
  log(call, path_of(descriptor));
  const int error = call.fault();
  return error ? failed(error) : call.real<int(int, int)>()(descriptor, operation);
}

int rename(const char* from, const char* to) noexcept {
  static Call call{"rename"};
  log(call, absolute(from), absolute(to));
  const int error = call.fault();
  return error ? failed(error) : lost(call.real<int(const char*, const char*)>()(from, to), to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static Call call{"renameat2"};
  log(call, absolute(from), absolute(to));  // of paths that are absolute or relative to the working folder
  const int error = call.fault();
  return error ? failed(error)
               : lost(call.real<int(int, const char*, int, const char*, unsigned)>()(from_folder, from,
                                                                                     to_folder, to, flags),
                      to);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) noexcept {
  static Call call{"pthread_create"};
  const int error = call.fault();
  return error ? error
               : call.real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>()(
                     thread, attributes, work, argument);
}
}
