#include "framework/plain.h"

#include <cstdlib>
#include <string>

namespace unroll {

bool is_plain(std::string_view change) {
  static const std::string words = [] {
    const char* const given = std::getenv("UNROLL_PLAIN");
    return "," + std::string(given ? given : "") + ",";
  }();
  return words.find("," + std::string(change) + ",") != words.npos;
}

}  // namespace unroll
