#include "training/files/append_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "training/files/file_size_signal.h"

namespace unroll {

static int open_at_end(const std::string& path, int flags) {
  constexpr int always = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  return retried([&] { return open(path.c_str(), always | flags, 0666); });
}

AppendFile::AppendFile(const std::filesystem::path& path) : path_(path.string()) {
  (void)has_own_file(path);  // throws if its name is taken by something else
  file_ = Descriptor(open_at_end(path_, 0));
  if (!file_) throw_system_error(errno, path_ + ": cannot be written");
}

std::optional<AppendFile> AppendFile::create(const std::filesystem::path& path) {
  Descriptor file(open_at_end(path.string(), O_EXCL));
  if (!file && errno == EEXIST) return {};
  if (!file) throw_system_error(errno, path.string() + ": cannot be written");
  return AppendFile(path.string(), std::move(file));
}

void AppendFile::append(std::string_view bytes) {
  const off_t end = lseek(file_.number(), 0, SEEK_END);
  const HoldFileSizeSignal hold;
  while (!bytes.empty()) {
    const ssize_t written = retried([&] { return write(file_.number(), bytes.data(), bytes.size()); });
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      const bool whole = end >= 0 && retried([&] { return ftruncate(file_.number(), end); }) == 0;
      throw Error(fmt::format("{}: cannot be written: {}{}", path_, std::strerror(error),
                              whole ? "; what stood in it before is whole" : ""));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace unroll
