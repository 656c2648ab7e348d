#include "examples/timeseries/scores/many_series.h"

#include <algorithm>
#include <deque>
#include <map>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/scores/verdict.h"
#include "framework/one_line.h"

namespace timeseries {

namespace {

Part moved(Part part, int64_t by) {
  for (Span& span : part) span.begin -= by, span.end -= by, span.history -= by;
  return part;
}

const Part& rows_of_part(const SeriesData& data, const std::string& name) {
  return name == "train" ? data.split.train : name == "valid" ? data.split.valid : data.split.test;
}

struct Method {
  std::string name;
  ForecastScores scores;
  int series = 0;  // series that it could forecast
};

std::vector<int> scored_series(const ForecastScores& scores, int count) {
  std::vector<int> result;
  for (int member = 0; member < count; ++member)
    if (scores.of_member(member).count > 0) result.push_back(member);
  return result;
}

}  // namespace

void add_forecasts_of_each(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                           Evaluation& evaluation) {
  const Series& series = data.series();
  std::deque<Method> methods;
  std::map<std::string, Method*> places;
  int scored = 0;
  const SeriesBounds bounds = bounds_of(recipe, data.facts.trained, part.windows);
  for (int member = 0; member < series.count(); ++member) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member);
    const Part train = moved(within(data.split.train, begin, end), begin),
               own = moved(within(rows_of_part(data, part.name), begin, end), begin);
    if (own.empty()) continue;
    const Series alone = series.alone(member);
    const auto windows = windows_if_any(recipe, alone, data.facts.scaling.of(member), own);
    if (!windows) continue;
    ++scored;
    if (train.empty()) continue;
    std::vector<std::string> left_out;
    for (const ForecastBaseline& baseline :
         baselines_of({recipe.data, alone, alone.rows(), train, data.targets()}, left_out)) {
      Method*& method = places[baseline.name];
      if (!method)
        method = &methods.emplace_back(Method{baseline.name, ForecastScores(part.windows, data.mase_scale)});
      if (method->series + 1 < scored) continue;  // it did not suit an earlier series
      const bool suits =
          for_each_forecast(baseline, *windows, [&](int64_t origin, const std::vector<double>& forecast) {
            const int64_t of_all = begin + origin;
            std::vector<double> values = forecast;
            bounds.clamp(of_all, values);
            method->scores.add({&of_all, 1}, values);
          });
      method->series += suits;
    }
  }
  for (Method& method : methods) {
    if (method.series == scored)
      evaluation.forecasts.push_back({method.name, std::move(method.scores)});
    else
      evaluation.left_out.push_back(method.name + " of every series: too little history");
  }
}

std::optional<RunDescription::Table> table_by_series(const Evaluation& evaluation, const SeriesData& data) {
  const Series& series = data.series();
  if (series.members.empty() || evaluation.forecasts.empty()) return {};
  const ForecastRow& model = evaluation.forecasts.front();
  std::vector<int> members = scored_series(model.scores, series.count());
  const auto mse = [&](const ForecastRow& row, int member) {
    return row.scores.of_member(member).scaled_mse;
  };
  RunDescription::Table table{
      .title = fmt::format("By series: {}", evaluation.part),
      .note = {},
      .columns = {series.id_name, "windows", "MSE scaled", "MAE scaled", "MASE", "best baseline", "its MSE"}};
  const bool is_model = model.name == "the model";
  std::ranges::stable_sort(members, std::greater{}, [&](int member) { return mse(model, member); });
  constexpr size_t most = 12;
  for (size_t k = 0; k < std::min(most, members.size()); ++k) {
    const int member = members[k];
    const ForecastErrors errors = model.scores.of_member(member);
    const ForecastRow* best = nullptr;
    for (const ForecastRow& row : evaluation.forecasts)
      if (!(is_model && &row == &model) && (!best || mse(row, member) < mse(*best, member))) best = &row;
    const auto per_window = int64_t{evaluation.horizon} * evaluation.targets;
    table.rows.push_back({one_line(series.name_of(member), 20),
                          with_commas((errors.count + per_window - 1) / per_window),
                          figure(errors.scaled_mse), figure(errors.scaled_mae), figure(errors.mase),
                          best ? best->name : "", best ? figure(mse(*best, member)) : ""});
  }
  table.note = members.size() > most ? fmt::format("The {} of {} series on which {} errs most.", most,
                                                   with_commas(members.size()), model.name)
                                     : std::string();
  if (!is_model) return table;
  for (size_t k = 1; k < evaluation.forecasts.size(); ++k) {
    const ForecastRow& row = evaluation.forecasts[k];
    const auto better =
        std::ranges::count_if(members, [&](int member) { return mse(model, member) < mse(row, member); });
    table.note += fmt::format("{}{} on {} of {}", k == 1 ? (table.note.empty() ? "" : " ") : ", ",
                              (k == 1 ? "By MSE the model is better than " : "") + row.name,
                              with_commas(better), with_commas(members.size()));
  }
  if (evaluation.forecasts.size() > 1) table.note += " series.";
  return table;
}

nlohmann::ordered_json json_by_series(const Evaluation& evaluation, const ForecastRow& row,
                                      nlohmann::ordered_json (*errors)(const ForecastErrors&)) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (size_t member = 0; member < evaluation.members.size(); ++member) {
    const ForecastErrors found = row.scores.of_member(static_cast<int>(member));
    if (found.count > 0) json[evaluation.members[member]] = errors(found);
  }
  return json;
}

}  // namespace timeseries
