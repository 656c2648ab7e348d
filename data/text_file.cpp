// See text_file.h.
#include "data/text_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/file_marks.h"
#include "framework/check.h"

namespace unroll {

namespace {

// The kind of a path that is not a regular file; nullptr if it is one.
const char* other_kind(mode_t mode) {
  return S_ISREG(mode)    ? nullptr
         : S_ISDIR(mode)  ? "a folder"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a link"
                          : "a device";
}

constexpr const char* own_file_rule = "a run's own files are not looked for behind links";

// The first byte of a pipe, "" if it ends at once. A read also reports the end while nobody has opened the pipe for
// writing, so a writer gets two seconds.
std::string first_byte(int descriptor, const std::string& path) {
  char byte = 0;
  const auto try_to_read = [&] { return retried([&] { return read(descriptor, &byte, 1); }); };
  ssize_t count = try_to_read();
  if (count == 0) {
    pollfd pipe{.fd = descriptor, .events = POLLIN, .revents = 0};
    constexpr int two_seconds = 2000;
    const bool came = retried([&] { return poll(&pipe, 1, two_seconds); }) > 0;
    count = try_to_read();
    require_input(came || count != 0, "{}: a pipe that nobody writes to", path);
  }
  if (count < 0 && errno != EAGAIN) throw_system_error(errno, path);  // EAGAIN: a writer is there
  return count == 1 ? std::string(1, byte) : "";
}

enum class Content : uint8_t { text, text_or_utf16, any };

std::string read_all(const Descriptor& file, const std::string& path, std::size_t at_most, Content content) {
  const auto too_long = [&] {
    throw InputError(fmt::format("{}: longer than the {} bytes that are read of such a file", path, at_most));
  };
  struct stat status;
  if (fstat(file.number(), &status) != 0) throw_system_error(errno, path);
  std::string text;
  if (S_ISREG(status.st_mode)) {
    if (static_cast<std::size_t>(status.st_size) > at_most) too_long();
    text.reserve(static_cast<std::size_t>(status.st_size));
  } else if (S_ISFIFO(status.st_mode)) {
    text = first_byte(file.number(), path);
  }
  // The file was opened without waiting. A read of a pipe waits for its writer.
  fcntl(file.number(), F_SETFL, fcntl(file.number(), F_GETFL) & ~O_NONBLOCK);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = retried([&] { return read(file.number(), buffer, sizeof buffer); });
    if (count < 0) throw_system_error(errno, path);
    if (count == 0) return text;
    if (static_cast<std::size_t>(count) > at_most - text.size()) too_long();
    text.append(buffer, static_cast<std::size_t>(count));
    const bool may_have_nul =
        content == Content::any || is_packed(text) || (content == Content::text_or_utf16 && is_utf16(text));
    if (!may_have_nul) require_no_nul({buffer, static_cast<std::size_t>(count)}, text, path);
  }
}

// Files that people write may begin with a mark, a run's own files may not.
std::string without_mark(std::string text) {
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

}  // namespace

Descriptor open_file(const std::filesystem::path& path, Links links, bool pipes) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (links == Links::refused ? O_NOFOLLOW : 0);
  Descriptor file(retried([&] { return open(path.c_str(), flags); }));
  const int error = errno;
  require_input(file || error != ENOENT, "{}: there is no such file", path.string());
  require_input(file || error != ELOOP || links != Links::refused, "{}: a link; {}", path.string(),
                own_file_rule);
  if (!file) throw_system_error(error, path.string());
  struct stat status;
  if (fstat(file.number(), &status) != 0) throw_system_error(errno, path.string());
  const char* const kind = other_kind(status.st_mode);
  const bool readable = kind == nullptr || (pipes && (S_ISFIFO(status.st_mode) || isatty(file.number())));
  require_input(readable, "{}: {}, not a file", path.string(), kind ? kind : "");
  return file;
}

bool has_own_file(const std::filesystem::path& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    throw_system_error(errno, path.string());
  }
  const char* const kind = other_kind(status.st_mode);
  require_input(kind == nullptr, "{}: {}, not a file{}{}", path.string(), kind ? kind : "",
                S_ISLNK(status.st_mode) ? "; " : "", S_ISLNK(status.st_mode) ? own_file_rule : "");
  return true;
}

std::string read_file(const std::filesystem::path& path, std::size_t at_most, bool utf16) {
  return without_mark(read_all(open_file(path, Links::followed, true), path.string(), at_most,
                               utf16 ? Content::text_or_utf16 : Content::text));
}

std::string read_standard_input(std::size_t at_most, bool utf16) {
  const std::string name = "standard input";
  const Descriptor input(retried([] { return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); }));
  if (!input) throw_system_error(errno, name);
  return without_mark(read_all(input, name, at_most, utf16 ? Content::text_or_utf16 : Content::text));
}

std::string read_own_file(const std::filesystem::path& path, std::size_t at_most) {
  return read_all(open_file(path, Links::refused), path.string(), at_most, Content::any);
}

TextLine take_line(std::string_view& text) {
  const std::size_t end = text.find_first_of("\r\n");
  const TextLine line{text.substr(0, end), end != text.npos};
  text.remove_prefix(line.text.size());
  text.remove_prefix(text.starts_with("\r\n") ? 2 : line.has_end ? 1 : 0);
  return line;
}

void throw_no_text(std::string_view origin, int64_t line, char byte) {
  throw InputError(fmt::format(
      "{}:{}: {}", origin, line,
      byte == 0
          ? "a NUL byte stands there, which no text has; UTF-16 must be saved as UTF-8"
          : fmt::format(
                "this is not UTF-8 text (byte {:#04x}): save it as UTF-8; a spreadsheet calls it \"CSV UTF-8\"",
                static_cast<unsigned char>(byte))));
}

void require_no_nul(std::string_view end, std::string_view text, std::string_view origin) {
  const std::size_t at = end.find('\0');
  if (at == std::string_view::npos) return;
  const std::string_view before = text.substr(0, text.size() - end.size() + at);
  throw_no_text(origin, 1 + std::count(before.begin(), before.end(), '\n'), '\0');
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace unroll
