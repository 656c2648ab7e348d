// Files of text: their bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/system_call.h"

namespace unroll {

// Whether a link is followed. A run's own files are none: what lies outside of its folder is nobody's to read or change.
enum class Links : uint8_t { followed, refused };

// A file that is open for reading: a regular one, or, where its reader asks for `pipes`, a pipe or a terminal. Does not wait.
// Throws with its name: there is none, it may not be read, it is of another kind (a folder, a device, a link).
Descriptor open_file(const std::filesystem::path& path, Links links, bool pipes = false);

// Whether there is such a file of a run's own. InputError: it is a link, a folder, a pipe, a device.
bool has_own_file(const std::filesystem::path& path);

// More than that is no text that would fit into memory as numbers.
constexpr std::size_t most_bytes_of_text = std::size_t{16} << 30;

// The file's bytes, without a byte order mark. A pipe is read to its end, as long as somebody has it open for writing; a named one that nobody opens for
// two seconds is an error. InputError, naming the file, if it cannot be read, is longer than `at_most`, or has a NUL byte and is not
// packed (gzip.h): then no more of it is read.
std::string read_file(const std::filesystem::path& path, std::size_t at_most = most_bytes_of_text);
// Those of standard input.
std::string read_standard_input(std::size_t at_most = most_bytes_of_text);
// All bytes of a run's own file: no link, no pipe.
std::string read_own_file(const std::filesystem::path& path, std::size_t at_most);

// Takes the first line off a text that is not empty. It ends with "\n", "\r\n" or "\r", which are no part of it; the last one
// may have no end.
struct TextLine {
  std::string_view text;
  bool has_end;
};
TextLine take_line(std::string_view& text);

// Throws InputError: this byte, in that line, begins no code point of UTF-8, or is a NUL, which no text has.
[[noreturn]] void throw_no_text(std::string_view origin, int64_t line, char byte);

// The end of a text as it is read: throws as above if there is a NUL in it.
void require_no_nul(std::string_view end, std::string_view text, std::string_view origin);

// Without the mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace unroll
