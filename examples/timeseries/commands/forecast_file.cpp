#include "examples/timeseries/commands/forecast_file.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>

#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/networks/trained_on.h"
#include "examples/timeseries/scores/verdict.h"
#include "examples/timeseries/series/bounds.h"
#include "examples/timeseries/series/season.h"
#include "framework/one_line.h"
#include "framework/signals.h"
#include "framework/threads.h"
#include "training/files/json/json.h"

namespace timeseries {

using Json = nlohmann::ordered_json;

namespace {

// The mean of one series, and what it forecasts.
struct MeanForecast {
  Forecast forecast;
  std::vector<Combination> means = {};    // by target
  std::vector<std::string> seasons = {};  // of its own, by target
};

// The rows of a channel from its first observed one on; none: fewer than three.
std::optional<Part> rows_of_channel(const Series& series, int channel) {
  int64_t begin = 0, observed = 0;
  while (begin < series.rows() && series.is_filled(begin, channel)) ++begin;
  for (int64_t row = begin; row < series.rows(); ++row) observed += !series.is_filled(row, channel);
  if (observed < Combination::least_rows) return {};
  return Part{{begin, series.rows(), begin}};
}

std::string interval_text(const Combination& mean, const std::string& bound) {
  std::string text = "80 %, as wide as its members expect";
  if (const auto& folds = mean.folds(); folds.interval_errors > 0)
    text =
        fmt::format("80 %, {} {} errors on the folds",
                    folds.interval_share == 1
                        ? fmt::format("as wide as its members expect, times {:.2f} by", folds.interval_factor)
                    : folds.interval_share > 0 ? "midway between what its members expect and"
                                               : "at each step by",
                    with_commas(folds.interval_errors));
  return bound.empty() ? text : text + ", " + bound;
}

Json json_of(const Combination& mean, const Series& series) {
  Json json{{"members", Json::array()},
            {"folds", {{"windows", mean.folds().windows}, {"from", series.times.text(mean.folds().first)}}},
            {"seasonal_naive_rmse", number_or_null<Json>(mean.folds().naive_error)}};
  for (const auto& member : mean.members()) {
    json["members"].push_back(
        {{"name", member.name}, {"weight", member.weight}, {"rmse", number_or_null<Json>(member.error)}});
    if (!member.left_out.empty()) json["members"].back()["left_out"] = member.left_out;
  }
  return json;
}

// Warns where the bound cuts the mean to 0, and no row is near 0.
void warn_of_cut(std::vector<std::string>& warnings, const Series& known, int target,
                 const std::vector<double>& mean) {
  const double least = std::ranges::min(values_of(known, target, 0, known.rows()));
  const auto steps = std::ranges::count_if(mean, [](double value) { return value < 0; });
  if (least > 0 && steps > 0)
    warnings.push_back(fmt::format("'{}' is forecast as 0 in {} of {} steps, where no row is below {:.6g}",
                                   one_line(known.channels[target]), steps, mean.size(), least));
}

// `known`: the series alone, without the rows to forecast. With `own_season` each target's season is found, not that of `options`.
std::optional<MeanForecast> mean_forecast(const Series& known, const std::vector<int>& targets, int64_t steps,
                                          CombinationOptions options, bool own_season,
                                          const std::vector<double>& bounds) {
  const auto count = static_cast<size_t>(steps) * targets.size();
  const std::vector<double> zeros(count);
  MeanForecast found{.forecast = {{known.rows(), zeros, zeros, zeros}}};
  std::vector<std::string> exploded, warnings;
  std::vector<int64_t> periods;
  for (const int target : targets) {
    const auto rows = rows_of_channel(known, target);
    if (!rows) return {};
    const std::vector<double> values = values_of(known, target, 0, known.rows());
    if (own_season) {
      const Season season = find_season(values, known.times.step);
      options.period = season.period, options.second_period = season.second_period;
      found.seasons.push_back(to_text(season));
    }
    periods.push_back(options.period);
    const double squares = variance(values);
    found.forecast.scale.push_back(squares > 0 ? std::sqrt(squares) : 1);
    found.forecast.facts.push_back(json_of(found.means.emplace_back(known, *rows, target, options), known));
  }
  const SeriesBounds limits(known, targets, {.asked = bounds, .periods = periods});
  for (size_t t = 0; t < targets.size(); ++t) {
    const Combination::Forecast of = found.means[t].forecast(known, known.rows(), steps);
    const Bound bound = limits.at(known.rows(), t);
    if (bounds.empty() && bound.least == 0) warn_of_cut(warnings, known, targets[t], of.values);
    for (size_t h = 0; h < of.values.size(); ++h) {
      const size_t at = h * targets.size() + t;
      const double value = bound.clamp(of.values[h]);
      const int64_t row = known.rows() + static_cast<int64_t>(h);
      SeriesBounds::Ends ends =
          limits.around({known.rows(), row, t, bound}, value, {of.low[h], of.high[h]}, 0.2);
      // No interval where the bound closes it to a point.
      if (!(ends.low < ends.high) && of.low[h] < of.high[h]) ends.low = ends.high = std::nan("");
      found.forecast.values[at] = value, found.forecast.low[at] = ends.low,
      found.forecast.high[at] = ends.high;
    }
    exploded.insert(exploded.end(), of.exploded.begin(), of.exploded.end());
  }
  found.forecast.interval = interval_text(found.means.front(), limits.text(known.rows()));
  if (!exploded.empty())
    warnings.push_back(fmt::format("left out of the mean: {} (far outside of all that the series has been)",
                                   fmt::join(exploded, ", ")));
  if (!warnings.empty()) found.forecast.warning = fmt::format("{}", fmt::join(warnings, "; "));
  return found;
}

// Mean weights and errors of the members over all series and targets.
RunDescription::Table table_of(const std::vector<MeanForecast>& all) {
  struct Row {
    std::string name;
    double weight = 0, error = 0, logs = 0, count = 0;
  };
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, double> left_out;  // series, by the name and why
  double means = 0, windows = 0;
  const bool is_one = all.size() == 1 && all[0].means.size() == 1;
  for (const MeanForecast& found : all)
    for (const Combination& mean : found.means) {
      ++means, windows += static_cast<double>(mean.folds().windows);
      for (const auto& member : mean.members()) {
        const std::string name = is_one ? member.name : member.name.substr(0, member.name.find(" ("));
        if (!member.left_out.empty()) ++left_out[{name, member.left_out}];
        if (member.weight == 0 && std::isnan(member.error)) continue;
        auto row = std::ranges::find(rows, name, &Row::name);
        if (row == rows.end()) row = rows.insert(row, {name});
        row->weight += member.weight, row->error = member.error;
        const double ratio = member.error / mean.folds().naive_error;
        if (std::isfinite(ratio) && ratio > 0) row->logs += std::log(ratio), ++row->count;
      }
    }
  RunDescription::Table table{
      .title = "Members of the mean",
      .note =
          fmt::format("{} forecast{} of folds.", with_commas(static_cast<int64_t>(windows)), plural(windows)),
      .columns = {"", "weight"}};
  if (is_one) table.columns.push_back("RMSE of folds");
  const bool has_naive = std::ranges::any_of(rows, [](const Row& row) { return row.count > 0; });
  if (has_naive) table.columns.push_back("of seasonal naive's");
  for (const Row& row : rows) {
    table.rows.push_back({row.name, fmt::format("{:.3f}", row.weight / means)});
    if (is_one) table.rows.back().push_back(figure(row.error));
    if (has_naive) table.rows.back().push_back(row.count > 0 ? figure(std::exp(row.logs / row.count)) : "");
  }
  const char* const forecast = all.size() == 1                            ? "columns"
                               : means == static_cast<double>(all.size()) ? "series"
                                                                          : "forecasts";
  for (const auto& [of, count] : left_out)
    table.note +=
        fmt::format(" {} is left out{}: {}.", of.first,
                    count < means ? fmt::format(" of {} of {} {}", count, means, forecast) : "", of.second);
  return table;
}

// Calls use(k) for each k below `count`, in at most `pieces` runs of neighbours, side by side. Throws what the first k that failed
// threw.
void spread(size_t count, int pieces, const auto& use) {
  pieces = std::min(pieces, static_cast<int>(count));
  std::vector<std::exception_ptr> failed(static_cast<size_t>(pieces));
  const auto piece_of = [&](int piece) {
    const auto p = static_cast<size_t>(piece), of = static_cast<size_t>(pieces);
    try {
      for (size_t k = p * count / of; k < (p + 1) * count / of; ++k) stop_if_signalled(), use(k);
    } catch (...) { failed[p] = std::current_exception(); }
  };
  if (pieces == 1)
    piece_of(0);  // not a piece of a task, which would have one thread
  else
    run_pieces(pieces, piece_of);
  for (const std::exception_ptr& failure : failed)
    if (failure) std::rethrow_exception(failure);
}

std::vector<int> targets_of(const Series& series, const Recipe& recipe) {
  std::vector<int> targets;
  for (const std::string& name : recipe.data.targets) targets.push_back(series.channel(name));
  return targets;
}

}  // namespace

FileForecasts::FileForecasts(const Recipe& guessed, const std::filesystem::path& csv, int64_t count,
                             const std::string& only)
    : recipe(guessed),
      series(load_series(recipe, csv, count > 0 ? count : recipe.data.horizon)),
      output(series, targets_of(series, recipe), count > 0 ? count : recipe.data.horizon, only) {
  if (!only.empty()) chosen = {series_named(series, only, "forecast: --series: " + series.origin)};
  for (int member = 0; only.empty() && member < series.count(); ++member) chosen.push_back(member);
}

void FileForecasts::forecast(const std::vector<std::string>& members, bool season_is_told) {
  constexpr size_t most_slow = 100;
  const size_t forecasts = chosen.size() * output.targets.size();
  const bool is_fast = forecasts > most_slow,
             has_own_season = !season_is_told && (!series.members.empty() || output.targets.size() > 1);
  const CombinationOptions options{.period = recipe.data.period,
                                   .second_period = recipe.data.second_period,
                                   .horizon = static_cast<int>(output.steps),
                                   .members = members,
                                   .fast = is_fast};
  const bool has_network =
      members.empty() ? !is_fast : std::ranges::find(members, "pretrained") != members.end();
  std::map<std::string, int64_t> seasons;  // so many forecasts have it
  std::vector<MeanForecast> found;
  std::vector<std::string> too_short, early, own_seasons;
  const auto end_of = [&](int member) { return series.end_of(member) - output.steps; };
  const auto time_of = [&](int member) { return series.times.at[end_of(member) - 1]; };
  const int64_t last = time_of(*std::ranges::max_element(chosen, {}, time_of));
  std::vector<std::optional<MeanForecast>> means(chosen.size());
  // The network's own kernels use the threads.
  spread(chosen.size(), has_network ? 1 : most_threads, [&](size_t k) {
    const Series known = series.part(series.begin_of(chosen[k]), end_of(chosen[k]));
    means[k] =
        mean_forecast(known, output.targets, output.steps, options, has_own_season, recipe.data.bounds);
  });
  for (size_t k = 0; k < chosen.size(); ++k) {
    const int64_t end = end_of(chosen[k]), time = time_of(chosen[k]);
    const std::string name = fmt::format("'{}'", one_line(series.name_of(chosen[k])));
    if (!means[k]) {
      too_short.push_back(name);
      continue;
    }
    if (series.members.empty()) warnings = warnings_of_outliers(series, {{0, end, 0}});
    const TimeStep& step = series.step_of(chosen[k]);
    if (!series.time_name.empty() && time_after(time, step, 1) <= last)  // its next row was due
      early.push_back(fmt::format("{} ends at {}, {} before the last", name, series.times.text(end - 1),
                                  difference_text(series.times.form, time, last, step)));
    for (const std::string& season : means[k]->seasons) ++seasons[season];
    output.all.push_back(means[k]->forecast);
    output.all.back().origin = end;
    found.push_back(std::move(*means[k]));
  }
  require_input(!found.empty(), "{}: fewer than {} rows have a value: a forecast takes {}", series.origin,
                Combination::least_rows, Combination::least_rows);
  notes = series.notes;
  for (const auto& [season, count] : seasons) own_seasons.push_back(fmt::format("{} in {}", season, count));
  const Season guessed{.period = recipe.data.period, .second_period = recipe.data.second_period};
  const char* const kind = output.targets.size() == 1 ? "series"
                           : chosen.size() == 1       ? "column"
                                                      : "column of each series";
  if (seasons.size() > 1 || (seasons.size() == 1 && seasons.begin()->first != to_text(guessed)))
    notes.push_back(forecasts == 1
                        ? fmt::format("the season of '{}' is: {}", one_line(series.name_of(chosen.front())),
                                      seasons.begin()->first)
                    : seasons.size() == 1
                        ? fmt::format("the season of each {} is: {}", kind, seasons.begin()->first)
                        : fmt::format("each {} has its own season: {}", kind, fmt::join(own_seasons, ", ")));
  if (!too_short.empty())
    notes.push_back(fmt::format("not forecast, for they have fewer than {} rows with a value: {}",
                                Combination::least_rows, first_of(too_short)));
  if (!early.empty())
    notes.push_back(
        fmt::format("series that end early are forecast from their own end: {}", first_of(early)));
  if (is_fast && members.empty())
    notes.push_back(fmt::format(
        "the network, ETS and ridge regression are left out of more than {} series (--members)", most_slow));
  table = table_of(found);
}

}  // namespace timeseries
