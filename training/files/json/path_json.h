// Paths in JSON. A path is bytes, and JSON is UTF-8, so a path that is not UTF-8 becomes a list of its bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/one_line.h"
#include "training/files/json/read_json.h"

namespace unroll {

inline nlohmann::ordered_json path_json(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (is_utf8(text)) return text;
  return std::vector<uint8_t>(text.begin(), text.end());
}

// Throws nlohmann::json::exception if `json` is no path.
inline std::filesystem::path path_in(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::vector<uint8_t> bytes = json;
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace unroll
