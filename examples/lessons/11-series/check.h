// The series of lesson 11, how forecasts are scored, and the check.
#pragma once

#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "examples/lessons/lesson.h"
#include "examples/timeseries/data/bundled_series.h"
#include "layers/dense.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"

using namespace unroll;

namespace lessons {

inline constexpr int training_months = 96, horizon = 24, window = 24;

// Airline passengers, thousands a month, 1949 to 1960 (Box and Jenkins 1976).
using Series = std::vector<double>;
inline Series passengers() {
  Series result;
  for (const auto& [name, text] : timeseries::bundled_series()) {
    if (name != "airline") continue;
    std::istringstream lines{std::string(text)};
    std::string line;
    std::getline(lines, line);  // the names of columns
    while (std::getline(lines, line)) result.push_back(std::stod(line.substr(line.find(',') + 1)));
  }
  return result;
}

// The months before a forecast begins, and no other.
struct Past {
  const Series& series;
  int months;
  // ago(1) is the last month.
  double ago(int n) const {
    if (n <= 0)
      wrong(
          "past.ago({}) asks for a month that is not over when the forecast is made: it looks into the future. From the "
          "13th month on the last known value of that month is further back.",
          n);
    if (n > months)
      wrong("past.ago({}) goes back beyond the first month; there are {} before the forecast.", n, months);
    return series[static_cast<size_t>(months - n)];
  }
};
using Forecast = std::function<double(const Past&, int k)>;

// The seasonal naive forecast times the growth of the last year.
inline double seasonal_growth(const Past& past, int k) {
  double last = 0, before = 0;
  for (int n = 1; n <= 12; ++n) last += past.ago(n), before += past.ago(n + 12);
  return past.ago(12 - k % 12) * std::pow(last / before, 1 + k / 12);
}

struct Score {
  double rmse;                    // thousands of passengers, over all origins and months of the horizon
  std::vector<double> last_ones;  // the forecast of the last two years
};
// Forecasts from each month of the test part that has two years left.
inline Score score(const Series& series, const Forecast& forecast) {
  Score result{};
  double squares = 0, count = 0;
  const int end = static_cast<int>(series.size());
  for (int origin = training_months; origin + horizon <= end; ++origin) {
    result.last_ones.clear();
    for (int k = 0; k < horizon; ++k) {
      const double value = forecast(Past{series, origin}, k),
                   off = value - series[static_cast<size_t>(origin + k)];
      result.last_ones.push_back(value);
      squares += off * off, ++count;
    }
  }
  result.rmse = std::sqrt(squares / count);
  return result;
}

// Growth over a year, log(y[t] / y[t-12]), times 5 so that it is about as large as a unit can be.
inline double growth(const Series& series, int t) {
  return 5 * std::log(series[static_cast<size_t>(t)] / series[static_cast<size_t>(t - 12)]);
}
struct Windows {
  Tensor x, target;  // [window, windows, 1] and [windows, 1]
};
inline Windows windows_of(const Series& series) {
  const int first = 12 + window, count = training_months - first;
  Windows result{Tensor({window, count, 1}), Tensor({count, 1})};
  const auto x = result.x.on_host(Access::overwrite), target = result.target.on_host(Access::overwrite);
  for (int i = 0; i < count; ++i) {
    for (int t = 0; t < window; ++t)
      x[t * count + i] = static_cast<real>(growth(series, first + i - window + t));
    target[i] = static_cast<real>(growth(series, first + i));
  }
  return result;
}

// A month at a time: what was forecast is read for the next.
template <class Model>
Forecast forecasts_of(const Model& model) {
  return [&model](const Past& past, int k) {
    Series known;
    for (int n = past.months; n >= 1; --n) known.push_back(past.ago(n));
    for (int ahead = 0; ahead <= k; ++ahead) {
      const int t = static_cast<int>(known.size());
      Tensor x({window, 1, 1});
      {
        const auto values = x.on_host(Access::overwrite);
        for (int i = 0; i < window; ++i) values[i] = static_cast<real>(growth(known, t - window + i));
      }
      known.push_back(known[static_cast<size_t>(t - 12)] * std::exp(double(model(x).item()) / 5));
    }
    return known.back();
  };
}

inline void check_naive(double (*naive)(const Past&, int)) {
  Series months;  // 1, 2, 3, …: three years
  for (int t = 1; t <= 36; ++t) months.push_back(t);
  const Past past{months, 36};
  std::vector<double> theirs;
  for (int k = 0; k < horizon; ++k) theirs.push_back(naive(past, k));
  const auto is = [&](auto other) {
    for (int k = 0; k < horizon; ++k)
      if (theirs[static_cast<size_t>(k)] != other(k)) return false;
    return true;
  };
  const char* begin = "36 months 1, 2, … 36 are known; the month to come was 25 the year before. ";
  if (is([](int) { return 36.0; }))
    wrong(
        "{}You forecast 36, the last value, for all of the 24 months: each of them would be like the last one that is "
        "known, summer or winter.",
        begin);
  if (is([](int) { return 25.0; }))
    wrong("{}You forecast 25 for all of the 24 months; the month after it was 26 the year before, and so on.",
          begin);
  if (is([](int k) { return 25.0 - k; }))
    wrong("{}For the months after it you go on to the left, 24, 23, …; they were 26, 27, … the year before.",
          begin);
  for (int k = 0; k < horizon; ++k)
    if (const double wanted = 25 + k % 12; theirs[static_cast<size_t>(k)] != wanted)
      wrong("{}Month {} of the forecast (k = {}) should be {}; yours is {}.", begin, k + 1, k, wanted,
            theirs[static_cast<size_t>(k)]);
}

struct Scores {
  Score last_value, seasonal, grown, model;
};
inline void check_scores(const Scores& scores) {
  fmt::print("RMSE of forecasts of two years, thousands of passengers:\n\n");
  for (const auto& [name, one] : {std::pair{"the last value", &scores.last_value},
                                  {"seasonal naive", &scores.seasonal},
                                  {"seasonal naive × growth", &scores.grown},
                                  {"the LSTM", &scores.model}})
    fmt::print("{:<25} {:8.1f}\n", name, one->rmse);
  const Series series = passengers();
  Chart chart{.title = "The last two years, forecast",
              .description = "Seasonal naive stays below what came; the model is nearer",
              .x_name = "month",
              .y_name = "thousands of passengers",
              .from_zero = false};
  const auto line = [&](const char* name, const std::vector<double>& values) {
    ChartSeries result{.name = name};
    for (size_t k = 0; k < values.size(); ++k)
      result.x.push_back(static_cast<double>(k + 1)), result.y.push_back(values[k]);
    chart.series.push_back(result);
  };
  line("what came", {series.end() - horizon, series.end()});
  line("seasonal naive", scores.seasonal.last_ones);
  line("the LSTM", scores.model.last_ones);
  draw(chart);
  if (!(scores.model.rmse < 0.9 * scores.seasonal.rmse))
    wrong("the model should have at most 0.9 of the seasonal naive's error; it has {:.1f} against {:.1f}.",
          scores.model.rmse, scores.seasonal.rmse);
  right(
      "the LSTM has {:.2f} times the seasonal naive's error. The other baseline, times growth, has {:.2f} times: it "
      "{} the LSTM, with two sums and a division.",
      scores.model.rmse / scores.seasonal.rmse, scores.grown.rmse / scores.seasonal.rmse,
      scores.grown.rmse < scores.model.rmse ? "beats" : "does not beat");
}

}  // namespace lessons

using namespace lessons;
