// Files of text: their bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/system_call.h"

namespace unroll {

// Whether a link is followed. A run's own files may not be links: nothing outside the run's folder is read or changed.
enum class Links : uint8_t { followed, refused };

// Opens a regular file for reading, or, if `pipes` is true, a pipe or a terminal. Does not wait. Throws with its name
// if the file does not exist, may not be read, or is of another kind (a folder, a device, a link).
Descriptor open_file(const std::filesystem::path& path, Links links, bool pipes = false);

// Returns true if a run's own file exists. Throws InputError if it is a link, a folder, a pipe or a device.
bool has_own_file(const std::filesystem::path& path);

// A longer text would not fit into memory as numbers.
constexpr std::size_t most_bytes_of_text = std::size_t{16} << 30;

// The file's bytes, without a byte order mark. A pipe is read until its writers close it. Throws InputError, naming the
// file, if it cannot be read, is longer than `at_most`, or is a named pipe that nobody opens for two seconds. Throws
// also at the first NUL byte of a file that is not packed (gzip.h), without reading on. `utf16`: a text with the mark of UTF-16
// may have NULs, and is returned as it stands.
std::string read_file(const std::filesystem::path& path, std::size_t at_most = most_bytes_of_text,
                      bool utf16 = false);
// The bytes of standard input, likewise.
std::string read_standard_input(std::size_t at_most = most_bytes_of_text, bool utf16 = false);
// All bytes of a run's own file: no link, no pipe.
std::string read_own_file(const std::filesystem::path& path, std::size_t at_most);

// take_line: takes the first line off a text that is not empty, without its end: "\n", "\r\n" or "\r". The last line may have
// none.
struct TextLine {
  std::string_view text;
  bool has_end;  // it ended with one
};
TextLine take_line(std::string_view& text);

// Throws InputError: `byte`, in that line, begins no UTF-8 code point, or is a NUL, which no text has.
[[noreturn]] void throw_no_text(std::string_view origin, int64_t line, char byte);

// Throws as above if `end`, the part of `text` that was read last, has a NUL.
void require_no_nul(std::string_view end, std::string_view text, std::string_view origin);

// Without the mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace unroll
