// The times of a series' rows, and what the messages about a row need.
#pragma once

#include <cstdint>
#include <string>

#include "examples/timeseries/files/series_columns.h"

namespace unroll {

// A line below the rows may hold a total or a remark: its first cell is neither a time nor a number. Advises to delete it then,
// with the lines below it if none of them is a row.
std::string or_no_row(const SeriesText& file);

class RowTimes {
 public:
  // Adds the row's time to `times`. `last`: the time of the previous row of its series; nullptr: there is none. Throws InputError:
  // no time, another form than above, or a row that is not in order.
  void read(const SeriesText& file, Times& times, const int64_t* last);
  bool go_back() const { return direction_ == Direction::back; }

 private:
  // Whether rows ascend in time, or descend with the newest first.
  enum class Direction : int8_t { back, unknown, forward };
  [[noreturn]] void refuse_order(const SeriesText& file, const Times& times, const Time& time,
                                 int64_t last) const;

  Direction direction_ = Direction::unknown;
};

}  // namespace unroll
