// ETS, Theta and CES of baselines.h: fitted before the test, and carried on.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/baselines/ces.h"
#include "examples/timeseries/baselines/ets.h"
#include "examples/timeseries/baselines/theta.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// The rows that a channel is fitted to: the last ones of the longest span, so many that more would hardly change the fit.
struct RowsOfChannel {
  int64_t begin = 0;
  std::vector<double> y = {};
  std::vector<uint8_t> filled = {};
};

RowsOfChannel rows_of_channel(const Series& series, const Part& train, int64_t period, int channel) {
  constexpr int64_t most = 4000, most_seasons = 20;
  const auto longest = std::max_element(train.begin(), train.end(), [](const Span& a, const Span& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  RowsOfChannel rows;
  if (longest == train.end()) return rows;
  rows.begin = std::max(longest->begin, longest->end - std::max(most, most_seasons * period));
  for (int64_t row = rows.begin; row < longest->end; ++row) {
    rows.y.push_back(series.at(row, channel));
    if (!series.filled.empty()) rows.filled.push_back(series.is_filled(row, channel));
  }
  return rows;
}

// The states of each channel, as far as rows have been asked for.
template <class Model>
struct CarriedOn {
  int64_t begin = 0;
  std::map<int, States<Model>> fitted = {};
  const Series* series = nullptr;
  std::map<int, States<Model>> states = {};

  const States<Model>& before(const Series& now, int64_t origin, int channel) {
    if (series != &now) series = &now, states = fitted;
    States<Model>& of = states.at(channel);
    while (of.rows() < origin - begin) of.add(now.at(begin + of.rows(), channel));
    return of;
  }
};

// "MAM of sales, ANN of returns, …, fitted to the last 4000 rows that train, and carried on". `forms`: by target.
std::string detail_of(const std::vector<std::string>& forms, const BaselineRows& of, int64_t count) {
  constexpr std::size_t most = 8;
  std::string form = forms.size() == 1 ? forms[0] : "";
  for (std::size_t i = 0; i < std::min(most, forms.size()) && forms.size() > 1 && !forms[i].empty(); ++i)
    form += fmt::format("{}{} of {}", i ? ", " : "", forms[i], one_line(of.series.channels[of.targets[i]]));
  if (!form.empty()) form += forms.size() > most ? ", …, " : ", ";
  return fmt::format("{}fitted to the {}{} rows that train, and carried on", form,
                     count < rows_of(of.train) ? "last " : "", count);
}

// Fits each channel by `fit`.
template <class Model>
Fitted carried_on(const char* name, const BaselineRows& of,
                  std::optional<Model> (*fit)(const FittedRows& rows, int64_t period)) {
  const auto kept = std::make_shared<CarriedOn<Model>>();
  std::vector<std::string> forms;
  RowsOfChannel rows;
  for (const int channel : of.targets) {
    rows = rows_of_channel(of.series, of.train, of.keys.period, channel);
    auto model = fit({rows.y, rows.filled}, of.keys.period);
    if (!model) return std::nullopt;
    forms.push_back(model->name());
    kept->fitted.emplace(channel, std::move(*model));
  }
  kept->begin = rows.begin;
  ForecastBaseline baseline{
      .name = name,
      .history = rows.begin + 1,
      .forecast =
          [kept](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            kept->before(series, origin, channel).forecast(origin - kept->begin, forecast);
          },
      .detail = detail_of(forms, of, std::ssize(rows.y))};
  if constexpr (requires { &Model::deviations; })
    baseline.interval = [kept](const Series& series, int64_t origin, int channel, std::span<double> low,
                               std::span<double> high) {
      constexpr double z = 1.2815515655446004;  // of a normal distribution 80 % lie within
      const States<Model>& states = kept->before(series, origin, channel);
      states.forecast(origin - kept->begin, low);
      states.deviations(origin - kept->begin, high);
      for (std::size_t h = 0; h < low.size(); ++h) {
        const double middle = low[h], reach = z * high[h];
        low[h] = middle - reach, high[h] = middle + reach;
      }
    };
  return baseline;
}

}  // namespace

Fitted ets(const BaselineRows& rows) { return carried_on("ETS", rows, choose_ets); }
Fitted theta(const BaselineRows& rows) { return carried_on("Theta", rows, fit_theta); }
Fitted ces(const BaselineRows& rows) { return carried_on("CES", rows, choose_ces); }

}  // namespace unroll
