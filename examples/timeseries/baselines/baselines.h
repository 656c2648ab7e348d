// The baselines that a model has to beat, on the same windows and scored by the same code. Like a model, they read
// filled-in values, but do not learn from filled-in targets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_windows.h"
#include "examples/timeseries/series/split.h"

namespace unroll {

struct ForecastBaseline {
  std::string name;     // in tables: "seasonal naive (24)"
  int64_t history = 0;  // rows needed before the first predicted one
  // Writes the forecast of a channel's rows from `origin` on. Reads only rows before `origin`.
  std::function<void(const Series& series, int64_t origin, int channel, std::span<double> forecast)> forecast;
  std::string detail = {};  // for a note: what was fitted to which rows; empty: nothing
  // Writes the ends of the interval that should hold 80 % of the values, by the model alone. None: it has none.
  std::function<void(const Series& series, int64_t origin, int channel, std::span<double> low,
                     std::span<double> high)>
      interval = {};
  // Makes forecasts of some origins together, which forecast() and interval() then have at hand. None: nothing is gained.
  std::function<void(const Series& series, std::span<const int64_t> origins, int channel, std::size_t steps)>
      prepare = {};
};

ForecastBaseline last_value();
// The value one period before the row, or as many periods as needed to be known. Throws InputError: a period below 1.
ForecastBaseline seasonal_naive(int64_t period);
// The seasonal naive forecast times the growth over a period. Growth is the sum of the last g values over the sum of the
// g values one period earlier; if that is 0, it is 1. g is the smaller of horizon and period, however many steps are
// forecast.
ForecastBaseline seasonal_growth(int64_t period, int64_t horizon);
// The last value plus one step for each row: the mean step from the first row to the last.
ForecastBaseline drift();
// The mean of the channel's observed training values; NaN if it has none.
ForecastBaseline training_mean(const Series& series, const Part& train);

// The range of a channel's rows before a forecast, which detects forecasts that explode.
class RangeBefore {
 public:
  RangeBefore(const Series& series, int64_t origin, int channel);
  // Whether a value of the forecast from `origin` on is not finite, or outside of the n rows' range by more than
  // 3 (1 + steps / n) times that range. If the rows are all equal, any finite value is near enough.
  bool is_left_by(std::span<const double> forecast) const;

 private:
  double least_, most_, rows_;
};

// Calls `use` with a forecast [horizon, targets] for each window in the current order, from the last row that the
// window reads. Returns false, and stops, at a window with too few rows before it. Throws Interrupted after a signal.
bool for_each_forecast(const ForecastBaseline& baseline, const SeriesWindows& windows,
                       const std::function<void(int64_t origin, const std::vector<double>& forecast)>& use);
// --- the table of those that recipes know ------------------------------------------------------------------

// The keys of [data] that baselines read.
struct BaselineKeys {
  int window = 24, horizon = 1;           // rows
  int64_t period = 1, second_period = 0;  // rows of a season
  bool ets = true, theta = true, ces = false, ridge = false, pretrained = false, combination = false;
};

// The rows that baselines are fitted to. Only the first `known` rows of the series have values.
struct BaselineRows {
  const BaselineKeys& keys;
  const Series& series;
  int64_t known;
  const Part& train;
  const std::vector<int>& targets;

  bool are_positive() const;
};

using Fitted = std::optional<ForecastBaseline>;
// The rows after which a period repeats. The second one is rounded to a multiple of the first if that changes it by at most
// 1 %: 365 days become 52 weeks.
int64_t lag_of(const BaselineKeys& keys, int64_t BaselineKeys::*period);
template <int64_t BaselineKeys::*period>
Fitted seasonal(const BaselineRows& r) {
  return seasonal_naive(lag_of(r.keys, period));
}
template <int64_t BaselineKeys::*period>
Fitted growth(const BaselineRows& r) {
  return r.are_positive() ? Fitted(seasonal_growth(lag_of(r.keys, period), r.keys.horizon)) : std::nullopt;
}

// Ridge regression (Hoerl and Kennard 1970) for each row of the horizon. It reads the window minus the window's
// last value, and the first three harmonics of each period above 1. The penalty is one of seven: the one that
// forecasts the last fifth of the training part best from the rows before. Beyond the horizon it goes on from its own
// forecasts. Window 0: the fifth chooses the window, too, and what is subtracted (the last value, the mean, nothing),
// for each channel. None: fewer than 10 windows without a filled-in target before the fifth, or a channel that does not change.
Fitted ridge(const BaselineRows& rows);
// Exponential smoothing, for each channel the form with the least AICc (ets.h); the Theta method (theta.h); and complex
// exponential smoothing (ces.h). They are fitted to the last rows of the training part's longest span: 4,000, or 20 periods if
// more. Their states follow later rows, their parameters stay. None: too few rows. Requires: the series does not change between two forecasts.
Fitted ets(const BaselineRows& rows);
Fitted theta(const BaselineRows& rows);
Fitted ces(const BaselineRows& rows);
// The forecaster that ships with the program (examples/timeseries/pretrained/): its median, by the last 512 rows. Nothing is
// fitted. None: fewer than three of these rows are observed.
Fitted pretrained(const BaselineRows& rows);
// The trimmed weighted mean of some of the others (combination.h).
Fitted combination(const BaselineRows& rows);

enum class Needs : uint8_t { nothing, season, second_season };

// A row of the table.
struct ForecastBaselineRow {
  std::string_view word;                     // with a `key` it is data.<word>
  Needs needs = Needs::nothing;              // from the keys
  Fitted (*make)(const BaselineRows&) = {};  // none: `left_out` says why
  const char* left_out = "";                 // for a table's note
  bool BaselineKeys::*key = nullptr;  // puts it into tables; nullptr: it stands there if its needs are met
  const char *meaning = "", *source = "";  // of the key

  // Says what the keys lack: "data.period = 1 has no season"; empty: nothing.
  std::string missing(const BaselineKeys& keys) const;
  bool is_in_tables(const BaselineKeys& keys) const { return missing(keys).empty() && (!key || keys.*key); }
};

// A baseline is its row here and its function above, in a file of its own.
inline constexpr ForecastBaselineRow forecast_baselines[] = {
    {.word = "last", .make = [](const BaselineRows&) -> Fitted { return last_value(); }},
    {.word = "drift", .make = [](const BaselineRows&) -> Fitted { return drift(); }},
    {.word = "seasonal", .needs = Needs::season, .make = seasonal<&BaselineKeys::period>},
    {.word = "growth",
     .needs = Needs::season,
     .make = growth<&BaselineKeys::period>,
     .left_out = "growth: a value is 0 or less"},
    {.word = "second-seasonal",
     .needs = Needs::second_season,
     .make = seasonal<&BaselineKeys::second_period>},
    {.word = "second-growth",
     .needs = Needs::second_season,
     .make = growth<&BaselineKeys::second_period>,
     .left_out = "growth of the second season: a value is 0 or less"},
    {.word = "mean",
     .make = [](const BaselineRows& r) -> Fitted { return training_mean(r.series, r.train); }},
    {.word = "ridge",
     .make = ridge,
     .left_out = "ridge regression: too little history, or a channel that does not change",
     .key = &BaselineKeys::ridge,
     .meaning =
         "a ridge regression of the window among the baselines, one for each step, and waves of each period",
     .source = "Hoerl and Kennard 1970"},
    {.word = "ets",
     .make = ets,
     .left_out = "ETS: too little history",
     .key = &BaselineKeys::ets,
     .meaning =
         "exponential smoothing among the baselines, its form by AICc: fitted to the rows that train, and "
         "carried on",
     .source = "Hyndman et al. 2008"},
    {.word = "theta",
     .make = theta,
     .left_out = "Theta: too little history",
     .key = &BaselineKeys::theta,
     .meaning = "the Theta method among the baselines: fitted and carried on likewise",
     .source = "Fiorucci et al. 2016"},
    {.word = "ces",
     .make = ces,
     .left_out = "CES: too little history",
     .key = &BaselineKeys::ces,
     .meaning =
         "complex exponential smoothing among the baselines, its season by AICc: fitted and carried on likewise",
     .source = "Svetunkov, Kourentzes and Ord 2022"},
    {.word = "pretrained",
     .make = pretrained,
     .left_out = "pretrained: too few rows",
     .key = &BaselineKeys::pretrained,
     .meaning =
         "among the baselines the recurrent network that ships with the program and never saw the series"},
    {.word = "combination",
     .make = combination,
     .left_out = "combination: too little history",
     .key = &BaselineKeys::combination,
     .meaning =
         "among the baselines the mean that forecasts a file without a recipe, of some of the others, weighted by their "
         "errors on the last rows that train",
     .source = "Bates and Granger 1969"}};

// The words of a table's rows, in its order.
template <class Row, std::size_t count>
std::vector<std::string> words_of(const Row (&table)[count]) {
  std::vector<std::string> words;
  for (const Row& row : table) words.emplace_back(row.word);
  return words;
}
// The row of a word; nullptr: there is none.
const ForecastBaselineRow* baseline_row(std::string_view word);
// Fits the baselines of the tables, in this order. `left_out` gets those that cannot be fitted, with the reason.
std::vector<ForecastBaseline> baselines_of(const BaselineRows& rows, std::vector<std::string>& left_out);

// A baseline learns from the same windows as a model, but looks only at a window's last row.
struct DetectionBaseline {
  std::string name;
  // The probability of label 1 in row `origin`, from the channels of row `last`, the last row that the window reads.
  std::function<double(const Series& series, int64_t origin, int64_t last)> probability;
};

// The share of label 1 in training, for every row.
DetectionBaseline majority_class(const SeriesWindows& train);
// The rule that is most often right in training: "channel > value", "channel < value" or "always" a label; 0 or 1.
DetectionBaseline threshold_baseline(const SeriesWindows& train);
// Logistic regression on standardised channels by Newton's method; ½ |w|² (without bias) is added to the summed log
// loss.
DetectionBaseline logistic_regression(const SeriesWindows& train);
// The label of the previous row. It knows what no detector is told, and shows how seldom the label changes. For the
// first row of a series it says 0.
DetectionBaseline previous_label(const SeriesWindows& train);

// Scores all windows. Requires: horizon 1, and a label as the target.
DetectionScores score(const DetectionBaseline& baseline, const SeriesWindows& windows);
// The windows' labels, in their current order.
std::vector<int> window_labels(const SeriesWindows& windows);

}  // namespace unroll
