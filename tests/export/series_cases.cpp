// Models of the program timeseries: each network, and each way in which windows and targets are read and scaled.
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/export/c_series.h"
#include "examples/timeseries/export/onnx_pretrained.h"
#include "examples/timeseries/export/onnx_series.h"
#include "examples/timeseries/pretrained/model_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "examples/timeseries/series/bounds.h"
#include "tests/export/cases.h"
#include "training/files/state_dict.h"

namespace unroll {

namespace {

using timeseries::Recipe;

// Columns a, b, c, whether each was missing, then two of a calendar, as a recipe asks for them.
struct SeriesCase {
  std::string name;
  Recipe recipe;
  int members = 1;
  double level = 0, unit = 0;  // values are the level and whole numbers of units; 0: any
  timeseries::TrainedOn trained = {};
  Bound bound = {};  // of all targets

  Series series() const {
    std::vector<std::string> names{"a", "b", "c"};
    if (recipe.detects()) names[2] = recipe.data.label;
    const int marks = recipe.data.missing == Missing::mask ? 3 : 0,
              calendar = marks + 2 * static_cast<int>(recipe.data.calendar.size());
    for (int k = 0; k < calendar; ++k)
      names.push_back(k < marks ? names[static_cast<size_t>(k)] + " missing" : fmt::format("day {}", k));
    RandomStream random(6, name);
    constexpr int rows = 60;
    std::vector<double> values;
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < 3; ++k) {
        const double value = 10 * (k + 1) + 5 * std::sin(0.7 * row + k) + random.uniform();
        values.push_back(level + (unit > 0 ? unit * std::round(value) : value));
      }
      if (recipe.detects()) values.back() = random.uniform() < 0.5;
      for (int k = 0; k < calendar; ++k) values.push_back(2 * random.uniform() - 1);
    }
    Series made = make_series(names, values);
    made.calendar = calendar;
    if (recipe.detects()) made.label = 2;
    for (int k = 0; members > 1 && k < members; ++k)
      made.members.push_back({fmt::format("s{}", k), k * rows / members, (k + 1) * rows / members});
    return made;
  }
};

// Row b of [steps, batch, …], or of [outputs, horizon, batch, targets].
template <class Number>
std::vector<Number> row_of(const std::vector<Number>& all, int b, int batch, int64_t width) {
  std::vector<Number> result;
  for (int64_t t = 0; t < std::ssize(all) / batch / width; ++t)
    result.insert(result.end(), all.begin() + (t * batch + b) * width,
                  all.begin() + (t * batch + b + 1) * width);
  return result;
}
std::vector<real> row_of(const Tensor& all, int b, int batch, int64_t width) {
  return row_of(all.to_host(), b, batch, width);
}

// found: [outputs, horizon, batch, targets]
void check_step(const SeriesCase& of, RealTimeStep& step, StepsInC& in_c, int b, const Tensor& x, int member,
                const std::vector<double>& found, int targets) {
  const int batch = x.dim(1);
  std::ranges::copy(row_of(x, b, batch, x.dim(2)), step.in_64("x").begin());
  const int place = of.members > 1 ? member : 0;
  step(place), in_c.add(step, place);
  const std::vector<double> expected = row_of(found, b, batch, targets);
  of.recipe.detects() ? require_step(of.name, step["probability"], expected)
                      : require_step(of.name, step.in_64("forecast"), expected, of.level);
}

void write_series(const std::filesystem::path& folder, const SeriesCase& of) {
  const Series series = of.series();
  const Recipe& recipe = of.recipe;
  std::vector<std::string> notes;
  std::vector<int> transformed;
  for (const std::string& name : recipe.data.targets) transformed.push_back(series.channel(name));
  const Scaling scaling = fit_scaling(series, whole_series(series), recipe.scaling.kind, notes,
                                      recipe.scaling.transform, transformed);
  SeriesWindows windows = timeseries::make_windows(recipe, series, scaling, whole_series(series), "cases");
  if (of.members > 1) windows.shuffle(1, 1);  // else the first ones are all of one series
  timeseries::SeriesModel model(recipe, timeseries::columns_of(windows));
  model.params.initialize(Init::uniform(-0.4f, 0.4f));
  timeseries::SavedModel saved{
      .path = "model.safetensors",
      .recipe = recipe,
      .facts = {.channels = series.channels, .scaling = scaling, .trained = of.trained}};
  for (const SeriesMember& member : series.members) saved.facts.members.push_back(member.name);
  auto weights = std::make_shared<std::map<std::string, Tensor>>();
  for (const NamedTensor& tensor : state_dict(model.params)) weights->emplace(tensor.name, tensor.tensor);
  saved.weights = weights;
  Case one(folder, "series_" + of.name);
  timeseries::write_onnx(one.onnx(), saved);
  const StepPlan plan = timeseries::step_plan(saved);
  RealTimeStep step(plan);
  StepsInC in_c(folder, one.name, plan, of.level);
  for (const bool small : {false, true}) timeseries::write_c(in_c.header(small), saved, small ? 8 : 32);

  const SeriesWindowOptions& options = windows.options();
  const int read = options.window + (options.known.empty() ? 0 : options.horizon),
            inputs = static_cast<int>(options.inputs.size());
  int at_ends = 0, within = 0;
  for (const int size : {4, 1}) {
    one.begin_call();
    const SeriesBatch batch = windows.batch(1, size);
    Tensor x({read, size, inputs}), members({size});
    Tensor found = model.predict(batch.input).clone();  // [outputs, horizon, batch, targets]
    const std::vector<real> scaled = found.to_host();
    std::vector<double> exact(scaled.begin(), scaled.end());
    for (int b = 0; b < size; ++b) {
      const int64_t origin = batch.origins[static_cast<size_t>(b)],
                    first = origin - options.lead - options.window + 1;
      const int member = series.member_of(first);
      members.data()[b] = static_cast<real>(member);
      for (int t = 0; t < read; ++t)
        for (int k = 0; k < inputs; ++k) {
          const int channel = options.inputs[static_cast<size_t>(k)];
          const bool hidden =
              t >= options.window && std::ranges::find(options.known, channel) == options.known.end();
          x.data()[(t * size + b) * inputs + k] =
              hidden ? 7 : static_cast<real>(series.at(first + t, channel));
        }
      const int targets = static_cast<int>(options.targets.size());
      for (int64_t o = 0; o < found.size() / size / targets; ++o)  // outputs and steps
        for (int k = 0; k < targets && !recipe.detects(); ++k) {
          const int64_t at = (o * size + b) * targets + k;
          double& value = exact[static_cast<size_t>(at)];
          value = scaling.undo(value, scaling.place(options.targets[static_cast<size_t>(k)], member));
          const double bounded = std::clamp(value, of.bound.least, of.bound.most);
          (bounded == value ? within : at_ends) += 1;
          found.data()[at] = static_cast<real>(value = bounded);
        }
    }
    const std::vector<real> from = members.to_host();
    require(of.members == 1 || size == 1 || std::ranges::count(from, from[0]) < size,
            "{}: all windows are of one series", of.name);
    for (int b = 0; b < size; ++b)
      check_step(of, step, in_c, b, x, static_cast<int>(members.data()[b]), exact, found.dim(3));
    one.input("x", x);
    if (of.members > 1) one.input("series", members);
    recipe.detects() ? one.output("probability", found.reshape({size})) : one.output("forecast", found);
  }
  require(of.bound == Bound{} || (at_ends > 0 && within > 0), "{}: {} forecasts at a bound, {} within",
          of.name, at_ends, within);
  one.write();
  of.name.starts_with("together") ? in_c.write({false}) : in_c.write();
}

const timeseries::NetworkRow* network(std::string_view word) {
  return std::ranges::find(timeseries::series_networks, word, &timeseries::NetworkRow::word);
}

std::vector<SeriesCase> series_cases() {
  std::vector<SeriesCase> cases;
  const auto add = [&](const std::string& name, const char* word, auto change) {
    SeriesCase one{name, {}, 1};
    one.recipe.name = name;
    one.recipe.model.architecture = network(word);
    one.recipe.model.hidden = 8;
    one.recipe.data.window = 8, one.recipe.data.horizon = 4;
    change(one);
    cases.push_back(one);
  };
  using timeseries::Normalization;
  const auto with_quantiles = [](Recipe& r) { r.training.loss = timeseries::Loss::quantile; };
  add("direct", "direct", [](SeriesCase& c) { c.recipe.model.layers = 2; });
  add("direct_channels", "direct", [&](SeriesCase& c) {
    c.recipe.model.shared_channels = true, c.recipe.model.normalization = Normalization::window;
    c.recipe.data.calendar = {"day"};
    with_quantiles(c.recipe);
  });
  add("direct_highway", "direct", [](SeriesCase& c) {
    c.recipe.model.segment = 2, c.recipe.model.highway = 5,
    c.recipe.model.normalization = Normalization::last;
    c.recipe.data.targets = {"c", "a"};
  });
  add("direct_known", "direct", [&](SeriesCase& c) {
    c.recipe.data.known = {"b", timeseries::known_calendar}, c.recipe.data.calendar = {"day"};
    c.recipe.model.shared_channels = true;
    with_quantiles(c.recipe);
  });
  add("detector", "direct", [](SeriesCase& c) {
    c.recipe.data.label = "on", c.recipe.model.highway = 3, c.recipe.data.horizon = 1;
  });
  add("direct_log", "direct", [](SeriesCase& c) { c.recipe.scaling.transform = Transform::log; });
  add("direct_several", "direct", [](SeriesCase& c) { c.members = 3, c.recipe.data.id = "id"; });
  add("segments", "segment-rnn", [&](SeriesCase& c) {
    c.recipe.model.segment = 2, c.recipe.model.normalization = Normalization::last;
    with_quantiles(c.recipe);
  });
  add("linear", "linear",
      [](SeriesCase& c) { c.recipe.model.normalization = Normalization::last, c.recipe.data.known = {"b"}; });
  add("other_targets", "direct",
      [](SeriesCase& c) { c.recipe.data.channels = {"a"}, c.recipe.data.targets = {"b"}; });
  add("large", "direct", [](SeriesCase& c) { c.level = 1.7e9, c.unit = 128; });  // that of float there
  add("bounds", "direct", [&](SeriesCase& c) {
    c.recipe.data.bounds = {9.75, 10.25}, c.bound = {9.75, 10.25}, c.recipe.data.targets = {"a"};
    c.members = 3, c.recipe.data.id = "id", with_quantiles(c.recipe);
  });
  add("not_below_0", "direct", [](SeriesCase& c) {
    c.level = -20, c.recipe.data.targets = {"b", "a"};
    c.trained.least = {0, 0, -1}, c.trained.most = {1, 1, 1}, c.bound.least = 0;
  });
  add("not_above_0", "linear", [](SeriesCase& c) {
    c.level = -10, c.recipe.data.targets = {"a"};
    c.trained.least = {-1, 0, 0}, c.trained.most = {0, 1, 1}, c.bound.most = 0;
  });
  // Options together, by lot.
  RandomStream random(5, "together");
  const auto chance = [&] { return random.below(2) == 0; };
  for (int k = 0; k < 30; ++k) {
    const timeseries::NetworkRow& row = timeseries::series_networks[k % 3];
    add(fmt::format("together_{}", k), row.word.data(), [&](SeriesCase& c) {
      auto& [name, model, data, scaling, training, optimizer, schedule] = c.recipe;
      model.normalization = static_cast<Normalization>(random.below(3));
      model.cell = std::array{CellKind::lstm, CellKind::gru, CellKind::rnn}[random.below(3)];
      model.layers = 1 + chance(), model.residual = row.is_recurrent() && model.layers > 1 && chance();
      if (row.reads("segment") && chance()) model.segment = 2;
      if (row.reads("highway") && chance()) model.highway = 5;
      if (row.reads("shared_channels")) model.shared_channels = chance();
      if (row.reads("known") && chance()) data.known = {"b"};
      if (chance() && (row.is_recurrent() || !data.known.empty())) {
        data.calendar = {"day"};
        if (!data.known.empty()) data.known.push_back(timeseries::known_calendar);
      }
      if (chance()) data.targets = {"c", "a"};
      if (chance()) data.missing = Missing::mask;
      if (chance()) scaling.kind = ScalingKind::minmax;
      if (chance())
        scaling.transform = Transform::log;
      else if (chance())
        c.members = 3, data.id = "id";
      if (chance()) with_quantiles(c.recipe);
    });
  }
  return cases;
}

void write_pretrained(const std::filesystem::path& folder) {
  const auto network = timeseries::read_forecaster(timeseries::bundled_forecaster());
  Case one(folder, "pretrained");
  timeseries::write_onnx(one.onnx(), *network);
  const StepPlan plan = timeseries::step_plan(*network);
  RealTimeStep step(plan);
  StepsInC in_c(folder, one.name, plan);
  timeseries::write_c(in_c.header(true), *network, 8);  // that of 32 bits takes a compiler long
  RandomStream random(2, "pretrained");
  for (const auto& [rows, ahead, batch] : {std::array{512, 8, 3}, {40, 2, 1}}) {
    const int segments = timeseries::segments_of(rows);
    timeseries::ForecastBatch inputs(segments, ahead, batch);
    for (int place = 0; place < batch; ++place) {
      std::vector<double> values;
      for (int t = 0; t < rows; ++t)
        values.push_back(100 + 10 * std::sin(0.52 * t) + 0.1 * t + 3 * random.normal());
      inputs.put(place, values, place == 0 ? 1 : 12);
    }
    one.begin_call();
    const auto tensor = [&](const std::vector<real>& numbers, int steps, int width) {
      return Tensor::from(Shape{steps, batch, width}, std::span(numbers));
    };
    one.input("context", tensor(inputs.context, segments, timeseries::context_width));
    one.input("ahead", tensor(inputs.ahead, ahead, timeseries::ahead_width));
    one.input("base", tensor(inputs.base, ahead, timeseries::segment_rows));
    const Tensor quantiles = stack((*network)(inputs)).value();  // [levels, segments, batch, rows]
    for (int b = 0; b < batch; ++b) {
      for (const auto& [of, numbers, width] :
           {std::tuple{"context", &inputs.context, timeseries::context_width},
            {"ahead", &inputs.ahead, timeseries::ahead_width},
            {"base", &inputs.base, timeseries::segment_rows}}) {
        const Tensor all = Tensor::from(Shape{static_cast<int>(numbers->size())}, std::span(*numbers));
        std::ranges::copy(row_of(all, b, batch, width), step[of].begin());
      }
      step(segments), in_c.add(step, segments);
      std::vector<float> first;  // of the segments that this call asks for
      for (int k = 0; k < timeseries::forecast_quantiles; ++k) {
        const auto level = step["quantiles"].subspan(static_cast<size_t>(k * timeseries::most_ahead));
        first.insert(first.end(), level.begin(), level.begin() + ahead * timeseries::segment_rows);
      }
      require_step("pretrained", first, row_of(quantiles, b, batch, timeseries::segment_rows));
    }
    one.output("quantiles", quantiles);
  }
  one.write(), in_c.write({true});
}

// A transform by series has no form. Throws Error unless it is refused.
void check_refused(const std::filesystem::path& folder) {
  SeriesCase several = series_cases().front();
  several.members = 2, several.recipe.data.id = "id", several.recipe.scaling.transform = Transform::log;
  std::string words = "taken";
  try {
    write_series(folder, several);
  } catch (const InputError& error) { words = error.what(); }
  require(words.find("each of 2 series has a transform of its own") != std::string::npos, "several: {}",
          words);
}

}  // namespace

void write_series_cases(const std::filesystem::path& folder) {
  const NoTape guard;
  check_refused(folder);
  for (const SeriesCase& one : series_cases()) write_series(folder, one);
  write_pretrained(folder);
}

}  // namespace unroll
