// A series: rows of numbers in order of time, one column a channel, as a CSV file or a model gives them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/times.h"

namespace unroll {

// The answer to a cell without a value (empty, NA, N/A, NaN, null, ?). Never zero.
enum class Missing : uint8_t {
  error,
  previous,  // the last value before it
  mask,  // that too, and before the first value nothing that a network reads; add_indicators() says which they are
  interpolate  // on the line between its neighbours: looks ahead, so a forecast from there knows too much
};
// The answer to times that are not a step apart: further than one and a half, or nearer than two thirds.
enum class Gaps : uint8_t {
  error,
  allow,  // rows are taken as if evenly spaced; a note says where
  fill    // rows without values are put in, if few are missing; a note says where
};

// How several rows become one.
enum class Together : uint8_t { mean, sum, first, last, least, most };

struct SeriesOptions {
  // The column of times; "": the first column if it holds dates or whole numbers that are dates, months or years
  // (form_of_numbers), else the only one that holds dates, else none.
  std::string time = {};
  std::string usual_time = {};  // with no `time`: the column of times where the file has one of this name
  // Of its dates whose year comes last. Unknown: found from the column, or `usual_order` where that may be either.
  DateOrder date_order = DateOrder::unknown, usual_order = DateOrder::unknown;
  // In this order; none named: every other column, as the file has them.
  std::vector<std::string> channels = {};
  bool channels_guessed = false;  // by a program: one of them may be the time, which is an error
  bool times_alone = false;       // no channel is asked for, and none named
  // Names of columns besides, which need not be there: like all that are named here, they tell a header of
  // numbers from a row of values.
  std::vector<std::string> known = {};
  // A column of 0 and 1 to be detected, taken in addition to `channels`.
  std::string label = {};
  // Columns of words, or of whole numbers that stand for words, taken in addition to `channels`: Series::categories.
  std::vector<std::string> categories = {};
  // "column=word": the rows that have the word in that column; "": all.
  std::string only = {};
  // The column that names the series of each row, where a file has several; "": its rows are one series.
  std::string id = {};
  Missing missing = Missing::error;
  Gaps gaps = Gaps::error;
  // Rows at the end of a series in which all of these channels are missing are to be forecast: they are left out. None named: no
  // row is.
  std::vector<std::string> open_end = {};
  // "1h": rows, in any order, are put together by steps of that length (resample.h); "": they stay, and must ascend.
  std::string resample = {};
  Together together = Together::mean;
  char separator = ',';
  char decimal = '.';                 // or ',': what stands before the decimals of a number
  char thousands = '\0';              // or ',', '.': what stands between its groups of three digits
  std::optional<TimeStep> step = {};  // that the rows must be apart, where there are times
  // The file of a trained model, if the options are its own: messages name it, and advise none to be changed.
  std::string model = {};
};

// One of the series that share a file: rows [begin, end) of all.
struct SeriesMember {
  std::string name;
  int64_t begin = 0, end = 0;
};

// A column of words.
struct SeriesCategory {
  std::string name;
  int column = 0;                  // of the file, from 1, for messages
  std::vector<std::string> words;  // by code, in order: whole numbers by their value, else by their bytes
  std::vector<int32_t> codes;      // by row
  bool is_static = false;          // each series has one word; encode_categories() says so
};

struct Series {
  std::string origin;  // the file, for messages
  Times times;
  std::string time_name;                      // of their column; "": none, the rows are numbered
  DateOrder date_order = DateOrder::unknown;  // in which they were read; unknown: they need none
  std::vector<std::string> channels;          // names; calendar features stand last
  std::vector<double> values;                 // [rows, channels], in original units, finite
  // [rows, channels]: 1 where the file had no value and one was filled in; empty: there is none. A filled value may be
  // read, but nobody saw it: it is never a target, and no score, scale or baseline is measured on it. 2: with none before it in
  // its series, it is the first one after it, and a window has the mean of training in its place.
  std::vector<uint8_t> filled;
  std::vector<int64_t> lines;  // of the file, by row; empty where there was no file
  int64_t open_rows = 0;       // that SeriesOptions::open_end left out, the most of any series
  int64_t added_rows = 0;      // that Gaps::fill put in
  // Where the file has several series: the column that names them, and the rows of each, one series after the other, in the
  // order in which the file names them first. Empty: all rows are one series. Times ascend within a series.
  std::string id_name;
  std::vector<SeriesMember> members;
  int label = -1;  // the channel that is a label, -1: none. Never scaled.
  int calendar =
      0;  // the last so many channels are calendar features, and behind them categories. Never scaled.
  std::vector<SeriesCategory> categories;
  int coded = 0;  // the last so many channels are the codes of the categories: 0, or all (add_categories)
  std::vector<std::string> notes;  // what a user should know: a column left out, values filled, gaps

  int width() const { return static_cast<int>(channels.size()); }
  int64_t rows() const { return static_cast<int64_t>(times.at.size()); }
  double at(int64_t row, int channel) const {
    return values[static_cast<std::size_t>(row * width() + channel)];
  }
  bool is_filled(int64_t row, int channel) const {
    return !filled.empty() && filled[static_cast<std::size_t>(row * width() + channel)] != 0;
  }
  // How many series there are, the one that a row lies in, and its rows.
  int count() const { return members.empty() ? 1 : static_cast<int>(members.size()); }
  int member_of(int64_t row) const;
  int64_t begin_of(int member) const {
    return members.empty() ? 0 : members[static_cast<std::size_t>(member)].begin;
  }
  int64_t end_of(int member) const {
    return members.empty() ? rows() : members[static_cast<std::size_t>(member)].end;
  }
  // A copy of the rows of one of them, which is then alone.
  Series alone(int member) const;
  // The channel holds the codes of a category.
  bool is_category(int channel) const { return channel >= width() - coded; }
  // Filled in, with no value before it.
  bool is_unknown(int64_t row, int channel) const {
    return !filled.empty() && filled[static_cast<std::size_t>(row * width() + channel)] == 2;
  }
  // Inserts channels before channel `at`: their names, and a column of rows() observed values for each.
  void insert_channels(int at, const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& columns);
  // The channel of that name. InputError, with the nearest name, if there is none.
  int channel(std::string_view name) const;
};

// A series of values [rows, names], its rows numbered from 0.
Series make_series(std::vector<std::string> names, std::vector<double> values);

// A CSV file with a header, packed or not, or standard input (series_file.h). A first column whose name is missing (a header one cell short, or begun by an
// empty name) is the time, as "time", if it holds dates; else it numbers the rows and is left out; a note
// says which.
//
// Throws InputError in one line, with the file, and line and column if there are any:
// * the file is missing, empty, or without rows;
// * it lacks its header: the first line has only numbers, dates and words for missing values, none of them named in the
//   options, nor in quotes above a number without;
// * rows, not the header, end with a separator; a row has more or fewer cells than the header; there are more than
//   1,048,576 columns;
// * numbers of rows are not whole or do not ascend;
// * a name is empty, repeated, or has a control character; a channel is unknown (with the nearest);
// * a cell is no number, infinite or missing; a label is neither 0 nor 1; a category holds numbers with decimals, or more than
//   65,536 words;
// * day and month of the times cannot be told apart, and the options do not say which comes first;
// * times cannot be read, descend, repeat themselves, are not a step apart, or have another step than asked for;
// * the rows are several series, and no column is said to name them (SeriesOptions::id); a row does not name its series;
// * a column may be the time and the options do not name it: years, months or moments since 1970 in whole numbers, and a
//   first column of whole numbers that ascend or descend.
Series load_series(const std::filesystem::path& path, const SeriesOptions& options = {});
Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options = {});

// Appends a channel for each that is no label nor feature of the calendar, before these are: "load missing", 1 where the value of
// "load" was filled in, else 0. It counts among the features of the calendar. InputError: there is a channel of that name.
void add_indicators(Series& series);

// Appends a channel for each category: its codes. Nothing is appended behind them. InputError: there is a channel of that name.
void add_categories(Series& series);

// Appends channels that tell the time: "minute" (of the hour), "hour" (of the day), "weekday", "day" (of the
// month), "day_of_year", "month"; each a sine and a cosine, so that the end of a day lies beside its
// beginning, and "trend": years since `trend_zero`. InputError: an unknown name (with the nearest), a series
// without dates.
void add_calendar(Series& series, const std::vector<std::string>& features, const Time& trend_zero);
// The trend counts from the first row.
void add_calendar(Series& series, const std::vector<std::string>& features);

}  // namespace unroll
