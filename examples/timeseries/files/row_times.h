// The times of a series' rows, and what the messages about a row need.
#pragma once

#include <cstdint>
#include <string>

#include "examples/timeseries/files/series_columns.h"

namespace unroll {

// Throws MendableFile with a message about the reader's row, if it is none: its first cell is neither a time nor a number, and it
// stands in a footer, or is a total, empty or the names again. Returns the advice to delete it, where it may be none.
std::string require_row(const SeriesText& file, const std::string& message);
// Throws that, or InputError with the message and the words.
[[noreturn]] void refuse_row(const SeriesText& file, const std::string& message);

// Throws InputError about a cell below numbers; MendableFile: it and few others of the column are words in place of values.
[[noreturn]] void refuse_words(const SeriesText& file, int column, const std::string& message);

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
