// A series: rows of numbers in order of time, one column a channel, from a CSV file or a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/times.h"

namespace unroll {

// The rule for a cell without a value (empty, NA, a dash, …: says_missing() in files/cells.cpp).
enum class Missing : uint8_t {
  error,
  previous,  // the last value before it
  mask,  // like previous; before the first value a network reads nothing; add_indicators() marks filled values
  interpolate,  // linear between its neighbours; this looks ahead, so a forecast from there knows too much
  zero          // 0, which counts as observed
};
// The rule for times that are not a step apart: further than 3/2 of it, or nearer than 2/3.
enum class Gaps : uint8_t {
  error,
  allow,  // rows count as evenly spaced; a note says where they are not
  fill  // adds rows without values if gaps are few and lack fewer rows than there are, or those that are missing are 0; a note says
        // where. Leaves out series whose rows keep to no step.
};

struct SeriesOptions {
  // The column of times. "": the first column if it holds dates, or whole numbers that are dates, months or years
  // (form_of_numbers); else the only column that holds dates; else none.
  std::string time = {};
  std::string usual_time = {};  // the column of times if `time` is "" and the file has this column
  bool needs_times = false;     // a column that looks like times is one, or the file is refused
  // The order in dates whose year comes last. Unknown: found from the column, or `usual_order` if both orders fit.
  DateOrder date_order = DateOrder::unknown, usual_order = DateOrder::unknown;
  // Channels in this order; empty: all other columns, in the file's order.
  std::vector<std::string> channels = {};
  bool times_alone = false;       // reads only the times, no channels
  bool channels_guessed = false;  // a program chose `channels`; it is an error if one may be the time
  // Further names of columns, which the file need not have. Like all names here, they tell a header of numbers from
  // a row of values.
  std::vector<std::string> known = {};
  // A column of 0 and 1 to detect, in addition to `channels`.
  std::string label = {};
  // "column=word": only rows with this word in this column; "": all rows.
  std::string only = {};
  // The column that names each row's series; "": all rows are one series.
  std::string id = {};
  Missing missing = Missing::error;
  Gaps gaps = Gaps::error;
  // Drops rows to forecast: those at the end of a series in which all these channels are missing. Empty: drops none.
  std::vector<std::string> open_end = {};
  char separator = ',';
  char decimal = '.';     // decimal separator, or ','
  char thousands = '\0';  // separator of three digits, or ',' or '.'
  bool mend = false;      // reads a file as programs export it (files/mend.h); notes say what was mended
  std::optional<TimeStep> step = {};  // required step, if the rows have times
  // The file of the trained model that these options come from. Messages then name it and advise no change of options.
  std::string model = {};
};

// One of several series in a file: its rows are [begin, end) of all.
struct SeriesMember {
  std::string name;
  int64_t begin = 0, end = 0;
  std::optional<TimeStep> step = {};  // between them, if it is not the step of the other series
};

struct Series {
  std::string origin;  // the file, for messages
  Times times;
  std::string time_name;                      // name of the time column; "": none, rows are numbered
  DateOrder date_order = DateOrder::unknown;  // order used to read them; unknown: none was needed
  std::vector<std::string> channels;          // names; calendar features stand last
  std::vector<double> values;                 // [rows, channels], in original units, finite
  // [rows, channels]: 1 if the file had no value and one was filled in; empty: nothing was. Filled values may be
  // inputs but are never targets, and no score, scale or baseline is measured on them. 2: its series has no value
  // before it. It holds the first value after it, and windows read the training mean instead.
  std::vector<uint8_t> filled;
  std::vector<int64_t> lines;  // line in the file, by row; empty if there was no file
  int64_t open_rows = 0;       // dropped by SeriesOptions::open_end, the most of any series
  int64_t added_rows = 0;      // added by Gaps::fill
  int64_t left_out = 0;        // rows: of series that keep to no step, by Gaps::fill; or without a value
  bool follows_clock = false;  // by Gaps::fill: the times had offsets that change, or drifted through the day
  // If the file has several series: the column that names them, and the rows of each. Series stand one after the other,
  // in the order in which the file first names them; times ascend within a series. Empty: all rows are one series.
  std::string id_name;
  std::vector<SeriesMember> members;
  int label = -1;                  // channel of the label, -1: none. Never scaled.
  int calendar = 0;                // features of the calendar: channels at the end. Never scaled.
  std::vector<std::string> notes;  // for the user: columns left out, values filled, gaps

  int width() const { return static_cast<int>(channels.size()); }
  int64_t rows() const { return static_cast<int64_t>(times.at.size()); }
  double at(int64_t row, int channel) const { return values[row * width() + channel]; }
  bool is_filled(int64_t row, int channel) const {
    return !filled.empty() && filled[row * width() + channel] != 0;
  }
  // The number of series, the series of a row, a series' name ("": the only one has none), and its rows.
  int count() const { return members.empty() ? 1 : static_cast<int>(members.size()); }
  std::string name_of(int member) const { return members.empty() ? "" : members[member].name; }
  int member_of(int64_t row) const;
  int64_t begin_of(int member) const { return members.empty() ? 0 : members[member].begin; }
  int64_t end_of(int member) const { return members.empty() ? rows() : members[member].end; }
  const TimeStep& step_of(int member) const {
    return members.empty() || !members[member].step ? times.step : *members[member].step;
  }
  // A copy of the rows [begin, end), as the only series.
  Series part(int64_t begin, int64_t end) const;
  Series alone(int member) const { return part(begin_of(member), end_of(member)); }
  // Replaces the rows by these of them, in this order; a row may come twice. Borders of members stay as they are.
  void take_rows(const std::vector<int64_t>& from);
  // Whether the value was filled in and its series has none before it.
  bool is_unknown(int64_t row, int channel) const {
    return !filled.empty() && filled[row * width() + channel] == 2;
  }
  // Inserts channels before channel `at`: names, and for each a column of rows() observed values.
  void insert_channels(int at, const std::vector<std::string>& names,
                       const std::vector<std::vector<double>>& columns);
  // The channel of this name. Throws InputError, with the nearest name, if there is none.
  int channel(std::string_view name) const;
};

// The first five names, for messages: "a, b, c, d, e, …".
std::string first_of(const std::vector<std::string>& names);

// A series of values [rows, names], with rows numbered from 0.
Series make_series(std::vector<std::string> names, std::vector<double> values);

// Reads a CSV file with a header, packed or not, or standard input (series_file.h). If the first column's name is
// missing (a header one cell short, or with an empty first name), the column is the time, named "time", if it holds
// dates. Else it numbers the rows and is left out. A note says which.
//
// Throws InputError in one line, with the file, and line and column if there are any:
// * The file is missing, empty, or without rows.
// * It has no header: the first line has only numbers, dates and words for missing values, and none is named in the
//   options or stands in quotes above a number without.
// * Rows, but not the header, end with a separator. A row has more or fewer cells than the header. There are more than
//   1,048,576 columns.
// * Row numbers are not whole or do not ascend.
// * A name is empty, repeated, or has a control character. A channel is unknown (with the nearest).
// * A cell is no number, infinite or missing. A label is neither 0 nor 1.
// * The order of day and month in the times is ambiguous, and the options do not say it.
// * Times cannot be read, descend, repeat, are not a step apart, or have another step than asked for.
// * Rows without times are totals of others, as the words of the first column say.
// * The rows are several series, and SeriesOptions::id names no column for them. A row does not name its series.
// * A column may be the time and the options do not say so: years, months or moments since 1970 in whole numbers, and a
//   first column of whole numbers that ascend or descend.
Series load_series(const std::filesystem::path& path, const SeriesOptions& options = {});
Series parse_series(std::string_view text, const std::string& origin, const SeriesOptions& options = {});

// Appends an indicator for each channel but the label: "load missing" is 1 where the value of "load" was filled in,
// else 0. Indicators count as calendar features. Requires: no calendar features are added yet. Throws InputError if
// a channel of this name exists.
void add_indicators(Series& series);

// Appends channels that tell the time. "minute" (of the hour), "hour" (of the day), "weekday", "day" (of the month),
// "day_of_year" and "month" are each a sine and a cosine, so that the end of a day is close to its beginning. Throws
// InputError: an unknown name (with the nearest), or a series without dates.
void add_calendar(Series& series, const std::vector<std::string>& features);

// The values of a channel in rows [begin, end), from its first observed one to its last. Other gaps are filled in.
std::vector<double> values_of(const Series& series, int channel, int64_t begin, int64_t end);

}  // namespace unroll
