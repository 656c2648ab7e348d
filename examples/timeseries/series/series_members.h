// Groups the rows of a file with several series by their series while they are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

class SeriesMembers {
 public:
  // Starts a row of the series `name`. Rows of one series mostly stand together, which needs no look-up.
  void next_row(std::string_view name);
  // The number of earlier rows of this row's series.
  int64_t rows_before() const { return counts_[now_] - 1; }
  // The time of the previous row in this row's series; nullptr: this row is the first. set_time() sets this row's time.
  const int64_t* last_time() const { return has_time_[now_] ? &times_[now_] : nullptr; }
  void set_time(int64_t time) { times_[now_] = time, has_time_[now_] = 1; }
  // Names the series' members and groups each one's rows, in their order.
  void settle(Series& series) const;

 private:
  std::vector<std::string> names_;
  std::vector<int64_t> counts_, times_;
  std::vector<uint8_t> has_time_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<uint32_t> of_row_;  // series by row
  std::size_t now_ = 0;
};

}  // namespace unroll
