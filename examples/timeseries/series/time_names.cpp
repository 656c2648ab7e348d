// Looks names of months and weekdays up. See time_names.h and times.h.
#include "examples/timeseries/series/time_names.h"

#include <algorithm>

#include "examples/timeseries/series/times.h"

namespace unroll {

bool is_name(std::string_view names, std::string_view word) {
  return names.find(' ' + lower_case(word) + ' ') != names.npos;
}

int place_among(std::span<const std::string_view> names, std::string_view word) {
  const std::string whole = ' ' + lower_case(word) + ' ';
  const auto found =
      std::ranges::find_if(names, [&](std::string_view of) { return of.find(whole) != of.npos; });
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

}  // namespace unroll
