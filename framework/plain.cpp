#include "framework/plain.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <fmt/ranges.h>

#include "framework/check.h"

namespace unroll {

namespace {
constexpr std::string_view changes[] = {"arrive-wait",    "block-flags", "cudnn-lanes",
                                        "fast-functions", "few-rows",    "gru-window",
                                        "norm-window",    "passes",      "two-layers"};
}

bool names_change(std::string_view list, std::string_view change) {
  bool named = false;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    require_input(std::ranges::find(changes, word) != std::end(changes), "UNROLL_PLAIN: '{}' is none of {}",
                  word, fmt::join(changes, ", "));
    named |= word == change;
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return named;
}

bool is_plain(std::string_view change) {
  static const std::string list = [] {
    const char* const set = std::getenv("UNROLL_PLAIN");
    return std::string(set ? set : "");
  }();
  return names_change(list, change);
}

}  // namespace unroll
