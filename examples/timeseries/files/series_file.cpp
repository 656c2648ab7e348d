// See series_file.h.
#include "examples/timeseries/files/series_file.h"

#include "data/gzip.h"
#include "data/text_file.h"

namespace unroll {

std::string read_series_file(const std::filesystem::path& path) {
  std::string bytes = path == standard_input ? read_standard_input() : read_file(path);
  return is_packed(bytes) ? unpacked(bytes, name_of_series_file(path), most_bytes_of_text) : bytes;
}

std::string name_of_series_file(const std::filesystem::path& path) {
  return path == standard_input ? "standard input" : path.string();
}

}  // namespace unroll
