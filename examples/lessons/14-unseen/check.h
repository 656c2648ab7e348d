// The drawn series of lesson 14, the network that reads them, and the check. The passengers, and how forecasts are scored, are
// those of lesson 11.
#pragma once

#include <algorithm>

#include "examples/lessons/11-series/check.h"

namespace lessons {

inline constexpr int rows_drawn = 12 + window + horizon;  // a year before the window, and two to forecast

// A series that nobody measured: a level whose slope wanders, twelve months of any shape that may grow with it, and noise.
inline Series drawn_series(RandomStream& random) {
  double shape[12], level = 0, slope = 0.2 * random.normal();
  const double season = random.uniform() < 0.2 ? 0 : 3 * random.uniform(), noise = 0.4 * random.uniform(),
               grows = random.uniform() < 0.5 ? 0 : 0.02 * random.uniform(),
               wanders = 0.04 * random.uniform();
  for (double& month : shape) month = season * random.normal();
  Series result;
  for (int t = 0; t < rows_drawn; ++t) {
    slope += wanders * random.normal(), level += slope;
    result.push_back(level + shape[t % 12] * (1 + grows * t) + noise * random.normal());
  }
  return result;
}

using Unit = double (*)(const Past&);

// Row k of the window, as the network reads it: by how much that month differs from the same month a year before, in units.
inline real read(const Past& past, double unit, int k) {
  return static_cast<real>((past.ago(window - k) - past.ago(window - k + 12)) / unit);
}

struct Batch {
  Tensor x, target;  // [window, series, 1] and [series, horizon]: the change against seasonal naive, in units
};
inline Batch drawn_batch(RandomStream& random, int count, Unit unit_of) {
  Batch batch{Tensor({window, count, 1}), Tensor({count, horizon})};
  const auto x = batch.x.on_host(Access::overwrite), target = batch.target.on_host(Access::overwrite);
  for (int i = 0; i < count; ++i) {
    const Series series = drawn_series(random);
    const Past past{series, 12 + window};
    const double unit = unit_of(past);
    for (int k = 0; k < window; ++k) x[k * count + i] = read(past, unit, k);
    for (int k = 0; k < horizon; ++k)
      target[i * horizon + k] =
          static_cast<real>((series[static_cast<size_t>(past.months + k)] - past.ago(12 - k % 12)) / unit);
  }
  return batch;
}

template <class Model>
Forecast unseen_forecasts(const Model& model, Unit unit_of) {
  return [&model, unit_of](const Past& past, int k) {
    const double unit = unit_of(past);
    Tensor x({window, 1, 1});
    {
      const auto values = x.on_host(Access::overwrite);
      for (int i = 0; i < window; ++i) values[i] = read(past, unit, i);
    }
    return past.ago(12 - k % 12) +
           unit * static_cast<double>(model(x).value().to_host()[static_cast<size_t>(k)]);
  };
}

inline void check_unit(Unit unit_of) {
  // Three years: each month of the second is 6 above that of the first, each of the third 2 below that of the second.
  Series months;
  for (int t = 0; t < 36; ++t)
    months.push_back(50 + 10 * std::sin(t % 12 * 0.5) + (t < 12 ? 0 : t < 24 ? 6 : 4));
  const auto unit_with = [&](double factor, double offset) {
    Series other;
    for (const double value : months) other.push_back(factor * value + offset);
    return unit_of(Past{other, 36});
  };
  const double unit = unit_with(1, 0), wanted = 4;
  const auto is = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); };
  const char* begin =
      "Three years are known; each month of the second is 6 above the same month of the first, each of the third 2 below. ";
  if (is(unit, wanted) && is(unit_with(1000, 0), 1000 * wanted)) return;
  if (is(unit_with(1000, 0), unit))
    wrong(
        "{}The unit is {:g}, and it is {:g} if the same series is written in thousandths. The net has read series whose changes "
        "are about 1: it would read changes of thousands.",
        begin, unit, unit_with(1000, 0));
  if (!is(unit_with(1, 500), unit))
    wrong("{}The unit is {:g}, and with 500 more in each month it is {:g}: the changes are the same.", begin,
          unit, unit_with(1, 500));
  if (is(unit, 2))
    wrong("{}The unit is 2: 6 up and 2 down are 4 on average, if down counts as much as up (std::abs).",
          begin);
  if (is(unit, 24 * wanted)) wrong("{}The unit is {:g}, the sum; the mean is a 24th of it.", begin, unit);
  wrong("{}The mean change of the 24 months is {:g}, whatever its sign; yours is {:g}.", begin, wanted, unit);
}

struct UnseenScores {
  Score seasonal, grown, unseen;
};
inline void check_unseen(const UnseenScores& scores) {
  fmt::print("RMSE of forecasts of two years, thousands of passengers:\n\n");
  for (const auto& [name, one] : {std::pair{"seasonal naive", &scores.seasonal},
                                  {"seasonal naive × growth", &scores.grown},
                                  {"the net", &scores.unseen}})
    fmt::print("{:<25} {:8.1f}\n", name, one->rmse);
  const Series series = passengers();
  Chart chart{.title = "Two years, forecast by a net that never saw the series",
              .description = "Seasonal naive stays below what came; the net is nearer",
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
  line("the net", scores.unseen.last_ones);
  draw(chart);
  if (!(scores.unseen.rmse < 0.9 * scores.seasonal.rmse))
    wrong("the net should have at most 0.9 of the seasonal naive's error; it has {:.1f} against {:.1f}.",
          scores.unseen.rmse, scores.seasonal.rmse);
  right(
      "the net has {:.2f} times the seasonal naive's error, on a series of which it has read no month in training.",
      scores.unseen.rmse / scores.seasonal.rmse);
}

}  // namespace lessons

using namespace lessons;
