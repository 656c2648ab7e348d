#include "training/append_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "framework/check.h"
#include "training/file_size_signal.h"

namespace unroll {

AppendFile::AppendFile(const std::filesystem::path& path)
    : path_(path.string()), descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  require(descriptor_ >= 0, "{}: cannot be written: {}", path_, std::strerror(errno));
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void AppendFile::append(std::string_view bytes) {
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  const HoldFileSizeSignal hold;
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      const bool whole = end >= 0 && ftruncate(descriptor_, end) == 0;
      throw Error(fmt::format("{}: cannot be written: {}{}", path_, std::strerror(error),
                              whole ? "; what stood in it before is whole" : ""));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace unroll
