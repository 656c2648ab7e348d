// Packed files of text (gzip, RFC 1952), unpacked by zlib. A build without zlib refuses them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unroll {

// Whether the bytes begin as a packed file does.
inline bool is_packed(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// What was packed: of several parts, one after the other. InputError, naming the file: it is damaged, ends early, goes on behind
// its end, holds a NUL byte, which no text has, or more than `at_most` bytes; this build has no zlib.
std::string unpacked(std::string_view bytes, const std::string& origin, std::size_t at_most);

}  // namespace unroll
