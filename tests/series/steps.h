// The step of some dates, and the rows that come after them.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/split.h"
#include "examples/timeseries/series/time_step.h"
#include "tests/support.h"

namespace unroll {

inline std::string step_of(const std::vector<std::string>& dates) {
  std::string text = "t,x\n";
  for (const std::string& date : dates) text += date + ",1\n";
  return to_text(parse_series(text, "x.csv", {.time = "t", .gaps = Gaps::allow}).times.step);
}

// The times of so many rows beyond the last, asked for one by one and, as rows are added, again and again.
inline std::string rows_after(const std::vector<std::string>& dates, int count) {
  std::string text = "t,x\n", all, added;
  for (const std::string& date : dates) text += date + ",1\n";
  Times times = parse_series(text, "x.csv", {.time = "t", .gaps = Gaps::allow}).times;
  const int64_t rows = static_cast<int64_t>(dates.size());
  for (int k = 0; k < count; ++k) all += (k ? ", " : "") + times.text(rows + k);
  for (int k = 0; k < count; ++k) {
    added += (k ? ", " : "") + times.text(rows + k);
    times.at.push_back(times.time(rows + k).count);
  }
  return all == added ? all : all + ", but added one by one: " + added;
}

}  // namespace unroll
