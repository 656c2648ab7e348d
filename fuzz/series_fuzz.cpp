// A CSV file, packed or not: any bytes as a series, or several. An accepted file has a finite value in every cell,
// ascending times in each series, and windows, also of transformed channels.
#include <cmath>

#include "data/file_marks.h"
#include "data/gzip.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_windows.h"
#include "fuzz/target.h"

namespace {

using namespace unroll;

void check(const Series& series) {
  fuzz::expect(series.rows() > 0, "a series has a row");
  fuzz::expect(static_cast<int64_t>(series.values.size()) == series.rows() * series.width(),
               "every cell is there");
  for (const double value : series.values) fuzz::expect(std::isfinite(value), "values are finite");
  int64_t end = 0;
  for (int member = 0; member < series.count(); ++member) {
    fuzz::expect(series.begin_of(member) == end && series.end_of(member) > end,
                 "each series has rows of its own");
    for (int64_t row = end + 1; row < series.end_of(member); ++row)
      fuzz::expect(
          series.times.at[static_cast<std::size_t>(row - 1)] < series.times.at[static_cast<std::size_t>(row)],
          "times ascend");
    end = series.end_of(member);
  }
  fuzz::expect(end == series.rows(), "every row is of a series");
  for (const std::string& note : series.notes) {
    for (const unsigned char c : note) fuzz::expect(c >= 32 && c != 127, "a note is one line of text");
  }
  fuzz::accepts([&] {
    if (series.width() == 0) return;  // times alone
    std::vector<std::string> notes;
    const Scaling scaling = fit_scaling(series, whole_series(series), ScalingKind::standard, notes);
    SeriesWindows windows(series, scaling, whole_series(series), "train",
                          {.window = 2, .inputs = {0}, .targets = {0}});
    windows.batch(windows.batches(4) - 1, 4);
  });
  fuzz::accepts([&] {
    std::vector<std::string> notes;
    const Scaling scaling =
        fit_scaling(series, whole_series(series), ScalingKind::standard, notes, Transform::log);
    for (int channel = 0; channel < series.width(); ++channel) {
      if (!scaling.at(channel).is_log) continue;
      const double scaled = scaling.apply(series.at(0, channel), channel);
      fuzz::expect(std::isfinite(scaled), "a logarithm is finite");
      fuzz::expect(scaling.undo(scaled, channel) >= 0, "what comes back is no number below 0");
    }
  });
  fuzz::accepts([&] {
    Series marked = series;
    add_indicators(marked);
    fuzz::expect(marked.width() == 2 * series.width() - (series.label >= 0),
                 "each channel has a mark beside it");
  });
  if (series.times.form != TimeForm::number) {
    Series dated = series;
    add_calendar(dated, {"minute", "hour", "weekday", "day", "day_of_year", "month"});
    for (const double value : dated.values) fuzz::expect(std::isfinite(value), "features are finite");
    fuzz::expect(parse_time(series.times.text(0)).has_value(), "a time can be written out and read again");
  }
}

}  // namespace

// The input: two bytes of options, then the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  SeriesOptions options;
  options.missing = data[0] % 3 == 0   ? Missing::error
                    : data[0] % 3 == 1 ? Missing::previous
                                       : Missing::interpolate;
  options.date_order = static_cast<DateOrder>((data[0] >> 2) % 3);
  options.gaps = data[0] & 16 ? Gaps::allow : Gaps::error;
  if (data[0] & 32) options.separator = ';', options.decimal = data[0] & 1 ? ',' : '.';
  if (data[0] & 64) options.time = "t";
  if (data[0] & 128) options.label = "on";
  if (data[1] & 1) options.id = "id";
  if (data[1] & 2) options.missing = Missing::mask;
  if (data[1] & 8) {  // what is known of the rows to forecast: times and single columns alone
    options.channels = {"y"}, options.gaps = Gaps::allow;
    if (options.label.empty() && data[1] & 16) options.channels.clear(), options.times_alone = true;
  }
  if (data[1] & 32) options.only = "id=a";
  if (data[1] & 64) options.missing = Missing::zero, options.gaps = Gaps::fill;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  constexpr std::size_t most = 1 << 20;
  fuzz::accepts([&] {
    check(is_packed(text) ? parse_series(unpacked(text, "fuzzed.csv.gz", most), "fuzzed.csv.gz", options)
                          : parse_series(text, "fuzzed.csv", options));
  });
  return 0;
}
