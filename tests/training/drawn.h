// Finds what is drawn in a page or a picture.
#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <utility>
#include <vector>

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
inline int64_t count(const std::string& text, const std::string& part) {
  int64_t result = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++result;
  return result;
}

// The x and y of every point of a path, in units of the drawing.
inline std::vector<std::pair<double, double>> points_of(const std::string& svg) {
  std::vector<std::pair<double, double>> result;
  const std::regex point("[ML](-?[0-9.]+) (-?[0-9.]+)");
  const size_t begin = svg.find("class=\"series");
  const std::string path = svg.substr(begin, svg.find("/>", begin) - begin);
  for (std::sregex_iterator match(path.begin(), path.end(), point), end; match != end; ++match)
    result.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  return result;
}
