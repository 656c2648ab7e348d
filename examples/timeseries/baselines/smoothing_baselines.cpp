// ETS and Theta of baselines.h: fitted before the test, and carried on.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
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
  std::map<int, States> fitted = {};
  const Series* series = nullptr;
  std::map<int, States> states = {};
};

template <class States>
ForecastBaseline carried_on(std::string name, int64_t begin, std::map<int, States> fitted,
                            std::string detail) {
  const auto kept = std::make_shared<CarriedOn<States>>(CarriedOn<States>{std::move(fitted)});
  return {.name = std::move(name),
          .history = begin + 1,
          .forecast =
              [kept, begin](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
                if (kept->series != &series) kept->series = &series, kept->states = kept->fitted;
                States& states = kept->states.at(channel);
                while (states.rows() < origin - begin) states.add(series.at(begin + states.rows(), channel));
                states.forecast(origin - begin, forecast);
              },
          .detail = std::move(detail)};
}

std::string fitted_to(const FittedRows& rows, const Part& train) {
  const auto count = static_cast<int64_t>(rows.y.size());
  return fmt::format("fitted to the {} rows that train, and carried on",
                     count < rows_of(train) ? fmt::format("last {}", count) : fmt::format("{}", count));
}

}  // namespace

std::optional<ForecastBaseline> ets(const Series& series, const Part& train, int64_t period,
                                    std::span<const int> targets) {
  std::map<int, EtsStates> fitted;
  std::vector<std::string> forms;
  FittedRows rows;
  for (const int channel : targets) {
    rows = fitted_rows(series, train, period, channel);
    const auto model = choose_ets({rows.y, rows.filled}, period);
    if (!model) return std::nullopt;
    forms.push_back(model->form.name());
    fitted.emplace(channel, EtsStates(*model));
  }
  constexpr std::size_t most = 8;
  std::string form = forms.size() == 1 ? forms[0] : "";
  for (std::size_t i = 0; i < std::min(most, forms.size()) && forms.size() > 1; ++i)
    form += fmt::format("{}{} of {}", i ? ", " : "", forms[i], one_line(series.channels[targets[i]]));
  if (forms.size() > most) form += ", …";
  return carried_on("ETS", rows.begin, std::move(fitted),
                    fmt::format("{}, {}", form, fitted_to(rows, train)));
}

std::optional<ForecastBaseline> theta(const Series& series, const Part& train, int64_t period,
                                      std::span<const int> targets) {
  std::map<int, ThetaStates> fitted;
  FittedRows rows;
  for (const int channel : targets) {
    rows = fitted_rows(series, train, period, channel);
    const auto model = fit_theta(rows.y, rows.filled, period);
    if (!model) return std::nullopt;
    fitted.emplace(channel, ThetaStates(*model));
  }
  return carried_on("Theta", rows.begin, std::move(fitted), fitted_to(rows, train));
}

}  // namespace unroll
