// Files of series as text: packed, or standard input.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

// In place of a path: what a program is given on its standard input, which has it once.
constexpr const char* standard_input = "-";

// The bytes of the file, unpacked where they are packed (data/gzip.h), whatever it is called. InputError as read_file() and
// unpacked().
std::string read_series_file(const std::filesystem::path& path);
// How messages name it.
std::string name_of_series_file(const std::filesystem::path& path);

}  // namespace unroll
