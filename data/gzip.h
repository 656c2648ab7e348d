// Packed files of text (gzip, RFC 1952), unpacked by zlib. A build without zlib refuses them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unroll {

// Unpacks all parts of a file, one after the other. Throws InputError, naming the file, if it is damaged, ends early or
// has bytes behind its end, or if this build has no zlib. Throws it also if the result has a NUL byte, which no text
// but UTF-16 has, or more than `at_most` bytes.
std::string unpacked(std::string_view bytes, const std::string& origin, std::size_t at_most);

}  // namespace unroll
