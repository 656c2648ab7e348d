// For the suites of files that are mended, without the program.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/timeseries/series/series.h"
#include "tests/folder.h"
#include "tests/support.h"

namespace series_mended {

using namespace unroll;

using Options = SeriesOptions;
using Notes = std::vector<std::string>;
inline Series mended(const std::string& text, Options options) {
  static const Folder folder;
  options.mend = true;
  if (options.missing == Missing::error) options.missing = Missing::previous;
  return load_series(folder.write("x.csv", text), options);
}
inline std::string refused(const std::string& text, const Options& options) {
  return input_error_of([&] { mended(text, options); });
}
// A file that has to be mended is read as one that a person has mended; each note is there once.
inline void check_mended(const std::string& exported, const std::string& by_hand, const Options& options,
                         const Notes& notes) {
 
  const Series series = mended(exported, options),
               plain = mended(by_hand, {.separator = options.separator, .decimal = options.decimal});
  CHECK(series.channels == plain.channels);
  CHECK(series.values == plain.values);
  CHECK(series.filled == plain.filled);
  CHECK(series.times.form == plain.times.form);
  CHECK(series.times.at == plain.times.at);
  for (const std::string& note : notes)
    CHECK_MESSAGE(std::ranges::count(series.notes, note) == 1,
                  fmt::format("{}", fmt::join(series.notes, "\n")));
}
inline std::string rows(std::string text, int count, const std::function<std::string(int)>& cells) {
  text += '\n';
  for (int row = 0; row < count; ++row) text += cells(row) + '\n';
  return text;
}
// From Monday 2021-01-04 on.
inline std::string dated(int row) {
  return to_text({TimeForm::date, parse_time("2021-01-04")->count + row * one_day});
}
inline std::string hour(int row, const char* from) {
  return to_text({TimeForm::date_time, parse_time(from)->count + row * one_hour}).substr(0, 16);
}
inline int week(int row) { return 10 + row % 7; }
inline std::string in_days(const std::string& names, int count, const char* form) {
  return rows(names, count, [=](int row) { return fmt::format(fmt::runtime(form), dated(row), week(row)); });
}
inline constexpr const char* counted = ", and lines are counted in the table that this makes";

}  // namespace series_mended
