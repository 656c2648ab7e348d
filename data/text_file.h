// Files of text: their bytes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace unroll {

// The file's bytes. InputError, naming it, if it cannot be read.
std::string read_file(const std::filesystem::path& path);

// Without the mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace unroll
