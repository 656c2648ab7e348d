// See text_file.h.
#include "data/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "framework/check.h"

namespace unroll {

std::string read_file(const std::filesystem::path& path) {
  const auto fail = [&](int error) {
    throw InputError(fmt::format("{}: {}", path.string(), std::strerror(error)));
  };
  std::error_code unreadable;  // which opening it says
  if (std::filesystem::is_directory(path, unreadable)) fail(EISDIR);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(errno);
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get()))
    text.append(buffer, count);
  if (std::ferror(file.get())) fail(errno);
  return text;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

}  // namespace unroll
