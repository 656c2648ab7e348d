// Reads files of series as text: packed files or standard input too.
#pragma once

#include <filesystem>
#include <string>

namespace unroll {

// The path that stands for standard input, which can be read only once.
constexpr const char* standard_input = "-";

// The file's bytes, unpacked if they are packed (data/gzip.h), whatever its name. Throws InputError like
// read_file() and unpacked(). UTF-16 stays, and read_mended() reads it. A pipe can be read only once, so its text is kept.
std::string read_series_file(const std::filesystem::path& path);
std::string name_of_series_file(const std::filesystem::path& path);

}  // namespace unroll
