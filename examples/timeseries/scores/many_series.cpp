#include "examples/timeseries/scores/many_series.h"

#include <algorithm>
#include <deque>
#include <map>

#include "examples/timeseries/baselines/baselines.h"

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
