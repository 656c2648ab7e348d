// The series of a file that has several, told apart while its rows are read.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

class SeriesMembers {
 public:
  // The series that the next row belongs to. Rows of one series mostly stand together: then nothing is looked up.
  void next_row(std::string_view name);
  // How many rows it had before this one.
  int64_t rows_before() const { return counts_[now_] - 1; }
  // The time of the row before in the series of this row, and that of this one; nullptr: it is the first.
  const int64_t* last_time() const { return has_time_[now_] ? &times_[now_] : nullptr; }
  void set_time(int64_t time) { times_[now_] = time, has_time_[now_] = 1; }
  // Names the series' members, and puts the rows of each together, in place: they keep their order.
  void settle(Series& series) const;

 private:
  std::vector<std::string> names_;
  std::vector<int64_t> counts_, times_;
  std::vector<uint8_t> has_time_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<uint32_t> of_row_;  // by row: its series
  std::size_t now_ = 0;
};

}  // namespace unroll
