// Files of text: their bytes, and the code points of UTF-8.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace unroll {

// The file's bytes. InputError, naming it, if it cannot be read.
std::string read_file(const std::filesystem::path& path);

// Without the mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

// Bytes of the UTF-8 code point that `text` begins with; 0 if it begins with none.
std::size_t code_point_size(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace unroll
