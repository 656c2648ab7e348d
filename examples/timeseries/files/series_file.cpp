// See series_file.h.
#include "examples/timeseries/files/series_file.h"

#include <map>

#include "data/file_marks.h"
#include "data/gzip.h"
#include "data/text_file.h"

namespace unroll {

std::string read_series_file(const std::filesystem::path& path) {
  static std::map<std::filesystem::path, std::string> of_pipes;
  std::error_code error;  // which reading says
  const bool is_file = path != standard_input && std::filesystem::is_regular_file(path, error);
  if (const auto known = of_pipes.find(path); !is_file && known != of_pipes.end()) return known->second;
  std::string bytes = path == standard_input ? read_standard_input(most_bytes_of_text, true)
                                             : read_file(path, most_bytes_of_text, true);
  if (is_packed(bytes)) bytes = unpacked(bytes, name_of_series_file(path), most_bytes_of_text);
  if (!is_file) of_pipes.emplace(path, bytes);
  return bytes;
}

std::string name_of_series_file(const std::filesystem::path& path) {
  return path == standard_input ? "standard input" : path.string();
}

}  // namespace unroll
