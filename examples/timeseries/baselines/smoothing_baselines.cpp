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
struct FittedRows {
  int64_t begin = 0;
  std::vector<double> y = {};
  std::vector<uint8_t> filled = {};
};

FittedRows fitted_rows(const Series& series, const Part& train, int64_t period, int channel) {
  constexpr int64_t most = 4000, most_seasons = 20;
  const auto longest = std::max_element(train.begin(), train.end(), [](const Span& a, const Span& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  FittedRows rows;
  if (longest == train.end()) return rows;
  rows.begin = std::max(longest->begin, longest->end - std::max(most, most_seasons * period));
  for (int64_t row = rows.begin; row < longest->end; ++row) {
    rows.y.push_back(series.at(row, channel));
    if (!series.filled.empty()) rows.filled.push_back(series.is_filled(row, channel));
  }
  return rows;
}

// The states of each channel, as far as rows have been asked for.
template <class States>
struct CarriedOn {
  int64_t begin;
  std::map<int, States> fitted;
  const Series* series = nullptr;
  std::map<int, States> states = {};

  const States& before(const Series& now, int64_t origin, int channel) {
    if (series != &now) series = &now, states = fitted;
    States& of = states.at(channel);
    while (of.rows() < origin - begin) of.add(now.at(begin + of.rows(), channel));
    return of;
  }
};

template <class States>
ForecastBaseline carried_on(std::string name, int64_t begin, std::map<int, States> fitted,
                            std::string detail) {
  const auto kept = std::make_shared<CarriedOn<States>>(CarriedOn<States>{begin, std::move(fitted)});
  ForecastBaseline baseline{
      .name = std::move(name),
      .history = begin + 1,
      .forecast =
          [kept](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            kept->before(series, origin, channel).forecast(origin - kept->begin, forecast);
          },
      .detail = std::move(detail)};
  if constexpr (requires(const States& s, std::span<double> to) { s.deviations(0, to); })
    baseline.interval = [kept](const Series& series, int64_t origin, int channel, std::span<double> low,
                               std::span<double> high) {
      constexpr double z = 1.2815515655446004;  // of a normal distribution 80 % lie within
      const States& states = kept->before(series, origin, channel);
      states.forecast(origin - kept->begin, low);
      states.deviations(origin - kept->begin, high);
      for (std::size_t h = 0; h < low.size(); ++h) {
        const double middle = low[h], reach = z * high[h];
        low[h] = middle - reach, high[h] = middle + reach;
      }
    };
  return baseline;
}

// Fits each channel by `fit`, which gives a model or none. `form` gets the word for each channel's form; "": it has one.
template <class States, class Fit>
std::optional<ForecastBaseline> fit_each(const char* name, const Series& series, const Part& train,
                                         int64_t period, std::span<const int> targets, Fit fit) {
  std::map<int, States> fitted;
  std::vector<std::string> forms;
  FittedRows rows;
  for (const int channel : targets) {
    rows = fitted_rows(series, train, period, channel);
    std::string form;
    auto model = fit(rows, form);
    if (!model) return std::nullopt;
    forms.push_back(std::move(form));
    fitted.emplace(channel, States(std::move(*model)));
  }
  constexpr std::size_t most = 8;
  std::string form = forms.size() == 1 ? forms[0] : "";
  for (std::size_t i = 0; i < std::min(most, forms.size()) && forms.size() > 1 && !forms[i].empty(); ++i)
    form += fmt::format("{}{} of {}", i ? ", " : "", forms[i], one_line(series.channels[targets[i]]));
  if (!form.empty()) form += forms.size() > most ? ", …, " : ", ";
  const auto count = static_cast<int64_t>(rows.y.size());
  return carried_on(
      name, rows.begin, std::move(fitted),
      fmt::format("{}fitted to the {} rows that train, and carried on", form,
                  count < rows_of(train) ? fmt::format("last {}", count) : fmt::format("{}", count)));
}

}  // namespace

std::optional<ForecastBaseline> ets(const Series& series, const Part& train, int64_t period,
                                    std::span<const int> targets) {
  return fit_each<EtsStates>("ETS", series, train, period, targets,
                             [&](const FittedRows& rows, std::string& form) {
                               auto model = choose_ets({rows.y, rows.filled}, period);
                               if (model) form = model->form.name();
                               return model;
                             });
}

std::optional<ForecastBaseline> theta(const Series& series, const Part& train, int64_t period,
                                      std::span<const int> targets) {
  return fit_each<ThetaStates>(
      "Theta", series, train, period, targets,
      [&](const FittedRows& rows, std::string&) { return fit_theta(rows.y, rows.filled, period); });
}

std::optional<ForecastBaseline> ces(const Series& series, const Part& train, int64_t period,
                                    std::span<const int> targets) {
  return fit_each<CesStates>("CES", series, train, period, targets,
                             [&](const FittedRows& rows, std::string& form) {
                               auto model = choose_ces(rows.y, rows.filled, period);
                               if (model) form = model->name();
                               return model;
                             });
}

}  // namespace unroll
