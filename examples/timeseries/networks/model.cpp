#include "examples/timeseries/networks/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/ranges.h>

#include "examples/timeseries/recipe/ensemble_keys.h"

namespace timeseries {

namespace {

bool is_linear(const Recipe& recipe) {
  return recipe.model.architecture == Architecture::linear ||
         recipe.model.architecture == Architecture::dlinear;
}
// Whether the rows inside are those of single targets.
bool has_segments(const Recipe& recipe) { return recipe.model.architecture == Architecture::segment_rnn; }
bool is_by_channel(const Recipe& recipe) {
  return is_linear(recipe) || has_segments(recipe) || recipe.model.shared_channels;
}

RecurrentConfig encoder_config(const Recipe& recipe, const Columns& columns) {
  const int features = is_by_channel(recipe)
                           ? 1 + static_cast<int>(columns.known_channels().size()) + columns.calendar
                           : columns.inputs;
  return layers_of(recipe, has_segments(recipe) ? recipe.model.hidden
                                                : recipe.model.segment * (features + columns.embedded()));
}
RecurrentConfig decoder_config(const Recipe& recipe, const Columns& columns) {
  return layers_of(recipe,
                   (is_by_channel(recipe) ? 1 : static_cast<int>(columns.targets.size())) + columns.ahead());
}

}  // namespace

Columns columns_of(const SeriesWindows& windows) {
  const SeriesWindowOptions& options = windows.options();
  const Series& series = windows.series();
  Columns columns{
      .inputs = static_cast<int>(options.inputs.size()) - series.coded, .calendar = 0, .targets = {}};
  const int first_of_calendar = series.width() - series.calendar;
  for (const int channel : options.inputs)
    columns.calendar += channel >= first_of_calendar && !series.is_category(channel);
  std::vector<int> place(static_cast<size_t>(series.width()), -1);  // of each channel among the inputs
  for (int k = columns.inputs; k-- > 0;)
    place[static_cast<size_t>(options.inputs[static_cast<size_t>(k)])] = k;
  for (const int target : options.targets) columns.targets.push_back(place[static_cast<size_t>(target)]);
  for (const SeriesCategory& category : series.categories)
    columns.categories.push_back({.words = static_cast<int>(category.words.size())});
  for (const int channel : options.known) {
    if (series.is_category(channel))
      columns.categories[static_cast<size_t>(channel - (series.width() - series.coded))].is_known = true;
    else
      columns.known.push_back(place[static_cast<size_t>(channel)]);
  }
  return columns;
}

double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params) {
  const double targets = static_cast<double>(columns.targets.size());
  double rows = recipe.data.batch;
  if (recipe.is_ensemble() || is_linear(recipe))
    rows *= targets;
  else
    rows *= (is_by_channel(recipe) ? targets : 1) * (recipe.data.window / recipe.model.segment);
  return 6.0 * static_cast<double>(params.count()) * rows * recipe.training.accumulate;
}

std::string describe_layers(const Recipe& recipe) {
  const auto& m = recipe.model;
  if (recipe.is_ensemble()) {
    std::vector<std::string> members;
    for (const EnsembleWord& word : ensemble_words(recipe)) members.push_back(name_of(word));
    return fmt::format("an ensemble of {}", fmt::join(members, ", "));
  }
  switch (m.architecture) {
    case Architecture::linear:
      return "weighted sums of the window";
    case Architecture::dlinear:
      return fmt::format("weighted sums of the window's moving average of {} and of the rest",
                         m.moving_average);
    case Architecture::direct:
    case Architecture::encoder_decoder:
    case Architecture::segment_rnn:
      break;
  }
  std::string layers = unroll::describe_layers(cell_of(recipe), m);
  if (m.segment > 1) layers += fmt::format(" over segments of {} rows", m.segment);
  if (m.highway > 0) layers += fmt::format(" beside a highway of {} rows", m.highway);
  if (!recipe.data.categories.empty())
    layers += fmt::format(" with embeddings of {}", fmt::join(recipe.data.categories, ", "));
  if (!recipe.data.known.empty())
    layers += fmt::format(" and {} of the rows to forecast", fmt::join(recipe.data.known, ", "));
  return m.architecture == Architecture::encoder_decoder
             ? fmt::format("{} to encode, as many to decode", layers)
             : layers;
}

SeriesNetwork::SeriesNetwork(const Recipe& recipe, const Columns& columns,
                             const std::function<Scope(const char*)>& place)
    : recipe_(recipe), columns_(columns) {
  const auto& m = recipe.model;
  const bool reads_targets =
      !recipe.detects() && (by_channel() || m.normalization != Normalization::none ||
                            m.architecture == Architecture::encoder_decoder || m.highway > 0);
  require_input(!reads_targets || std::ranges::find(columns.targets, -1) == columns.targets.end(),
                "{}: data.targets must be among data.channels: the model goes on from their values",
                recipe.name);
  const int horizon = recipe.horizon(), out = recipe.outputs() * width();
  make_categories(place);
  if (linear()) {
    head_.emplace(place("linear"), DenseConfig{.in = recipe.data.window, .out = horizon * out});
    if (m.architecture == Architecture::dlinear)
      trend_head_.emplace(place("trend"), DenseConfig{.in = recipe.data.window, .out = horizon * out});
    make_ahead(place);
    return;
  }
  encoder_.emplace(place(cell_of(recipe).name), m.cell, encoder_config(recipe, columns));
  const bool decodes = m.architecture == Architecture::encoder_decoder;
  if (has_segments(recipe)) {
    const int half = m.hidden / 2;
    segment_.emplace(place("segment"),
                     DenseConfig{.in = m.segment * (1 + columns.calendar + columns.embedded()),
                                 .out = m.hidden,
                                 .activation = Activation::relu});
    position_ = place("position").add("weight", {horizon / m.segment, half}, Init::normal(0, 1)).var();
    channel_ = place("channel")
                   .add("weight", {static_cast<int>(columns.targets.size()), half}, Init::normal(0, 1))
                   .var();
  }
  if (decodes) decoder_.emplace(place("decoder"), m.cell, decoder_config(recipe, columns));
  dropout_.emplace(place("dropout"), DropoutConfig{.rate = m.dropout});
  head_.emplace(place("head"), DenseConfig{.in = m.output(),
                                           .out = segment_  ? m.segment * out
                                                  : decodes ? out
                                                            : horizon * out});
  make_ahead(place);
  if (m.highway == 0) return;
  const int channels = recipe.detects() ? columns.inputs : 1;
  highway_.emplace(place("highway"),
                   HighwayConfig{.length = m.highway * channels, .out = recipe.outputs() * horizon});
}

bool SeriesNetwork::linear() const { return is_linear(recipe_); }
bool SeriesNetwork::by_channel() const { return is_by_channel(recipe_); }

const RecurrentLayer* SeriesNetwork::recurrent() const { return encoder_ ? &*encoder_ : nullptr; }

// --- in and out of rows -----------------------------------------------------------------------------------

SeriesNetwork::Prepared SeriesNetwork::prepare(const Tensor& input) const {
  const int window = recipe_.data.window, each = by_channel() ? static_cast<int>(columns_.targets.size()) : 1;
  const Tensor values = without_codes(input);
  Prepared prepared = prepare_window(columns_.ahead() == 0 ? values : values.slice(0, window));
  if (!categories_.empty() && !linear())
    prepared.x = concat(Vars{prepared.x, reshape(embedded(input, 0, window, each, false),
                                                 {window, prepared.x.dim(1), columns_.embedded()})},
                        2);
  if (columns_.ahead() > 0) prepared.ahead = read_ahead(input);
  return prepared;
}

SeriesNetwork::Prepared SeriesNetwork::prepare_window(const Tensor& input) const {
  const int window = input.dim(0), batch = input.dim(1), targets = static_cast<int>(columns_.targets.size());
  if (!by_channel()) {
    if (recipe_.model.normalization == Normalization::none) return {input, {}, {}};
    Prepared prepared{input.clone(), {}, {}};
    normalize(prepared);
    return prepared;
  }
  // Each target is a row of its own, beside it the calendar and what is known ahead.
  const std::vector<int> known = linear() ? std::vector<int>() : columns_.known_channels();
  const int calendar = linear() ? 0 : columns_.calendar, rows = batch * targets,
            features = 1 + static_cast<int>(known.size()) + calendar;
  const Tensor by_row({window, rows, features});
  {
    const auto all = input.on_host();
    const auto x = by_row.on_host(Access::overwrite);
    for (int64_t place = 0; place < int64_t{window} * rows; ++place) {
      const int64_t t = place / rows, row = place % rows;
      const real* from = all.data() + (t * batch + row / targets) * columns_.inputs;
      real* to = x.data() + place * features;
      *to++ = from[columns_.targets[static_cast<size_t>(row % targets)]];
      for (const int column : known) *to++ = from[column];
      std::copy_n(from + columns_.inputs - columns_.calendar, calendar, to);
    }
  }
  Prepared prepared{by_row, {}, {}};
  normalize(prepared);
  return prepared;
}

// Changes x, and notes what is to be undone, if the output has the units of the input.
void SeriesNetwork::normalize(Prepared& prepared) const {
  const bool by_mean = recipe_.model.normalization == Normalization::window;
  if (recipe_.model.normalization == Normalization::none) return;
  const int window = prepared.x.dim(0), rows = prepared.x.dim(1), features = prepared.x.dim(2);
  const int values = linear() ? 1 : features - columns_.calendar, horizon = recipe_.horizon();
  const Shape noted{rows, horizon * width()};
  std::vector<real, PoolAllocator<real>> shifts(static_cast<size_t>(noted.size())), scales(shifts.size());
  const auto x = prepared.x.value().on_host(Access::change);
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < values; ++column) {
      const auto at = [&](int t) -> real& { return x[(int64_t{t} * rows + row) * features + column]; };
      double shift = at(window - 1), scale = 1;
      if (by_mean) {
        double sum = 0, squares = 0;
        for (int t = 0; t < window; ++t) sum += at(t);
        shift = sum / window;
        for (int t = 0; t < window; ++t) squares += (at(t) - shift) * (at(t) - shift);
        scale = std::sqrt(squares / window + least_deviation);
      }
      for (int t = 0; t < window; ++t) at(t) = static_cast<real>((at(t) - shift) / scale);
      for (int k = 0; k < width(); ++k) {
        if (feature_of(k) != column) continue;
        for (int step = 0; step < horizon; ++step) {
          const auto to = static_cast<size_t>(int64_t{row} * horizon * width() + step * width() + k);
          shifts[to] = static_cast<real>(shift);
          scales[to] = static_cast<real>(scale);
        }
      }
    }
  }
  if (!recipe_.detects()) {
    prepared.shift = Tensor::from(noted, shifts);
    prepared.scale = Tensor::from(noted, scales);
  }
}

// Where value (step, window, target) of a batch stands among the rows.
int64_t SeriesNetwork::place(int step, int window, int target) const {
  const int targets = static_cast<int>(columns_.targets.size()), horizon = recipe_.horizon();
  return by_channel() ? (int64_t{window} * targets + target) * horizon + step
                      : (int64_t{window} * horizon + step) * targets + target;
}

Tensor SeriesNetwork::in_rows(const Tensor& target) const {
  const int horizon = target.dim(0), batch = target.dim(1), targets = target.dim(2);
  Tensor rows({batch * targets / width(), horizon * width()});
  const auto to = rows.on_host(Access::overwrite);
  const auto from = target.on_host();
  for (int step = 0; step < horizon; ++step)
    for (int window = 0; window < batch; ++window)
      for (int k = 0; k < targets; ++k)
        to[place(step, window, k)] = from[(int64_t{step} * batch + window) * targets + k];
  return rows;
}

// --- forecasts --------------------------------------------------------------------------------------------

// [rows, outputs * width] -> by output [rows, width]
Vars SeriesNetwork::by_output(const Var& y) const {
  const int outputs = recipe_.outputs(), each = y.dim(1) / outputs;
  Vars parts;
  for (int q = 0; q < outputs; ++q) parts.push_back(outputs == 1 ? y : slice(y, 1, q * each, (q + 1) * each));
  return parts;
}

Vars SeriesNetwork::outputs(const Prepared& prepared, const Tracing* tracing) const {
  Vars y;
  const int window = prepared.x.dim(0);
  if (recipe_.model.architecture == Architecture::encoder_decoder) {
    y = encode_and_decode(prepared, tracing);
  } else if (segment_) {
    y = decode_segments(encode((*segment_)(in_segments(prepared.x)), tracing).state, prepared.x.dim(1),
                        prepared.target);
  } else if (linear()) {
    const Var x = last_values(prepared.x, 0, window);
    if (trend_head_) {
      const Var trend = moving_average(x);
      y = by_output((*head_)(sub(x, trend)) + (*trend_head_)(trend));
    } else {
      y = by_output((*head_)(x));
    }
    if (ahead_) add_ahead(y, prepared.ahead, {});
  } else {
    const Var steps = encode(in_segments(prepared.x), tracing).y;
    const Var state = (*dropout_)(row(steps, steps.dim(0) - 1)), read = (*head_)(state);
    y = by_output(highway_ ? read + linear_path(prepared.x) : read);
    if (ahead_) add_ahead(y, prepared.ahead, state);
  }
  if (prepared.shift.value().defined())
    for (Var& values : y) values = values * prepared.scale + prepared.shift;
  return y;
}

// [window, rows, features] -> [window / segment, rows, segment * features], in the order of time
Var SeriesNetwork::in_segments(const Var& x) const {
  const int segment = recipe_.model.segment, steps = x.dim(0) / segment, rows = x.dim(1), features = x.dim(2);
  if (segment == 1) return x;
  return reshape(transpose(reshape(x, {steps, segment, rows, features}), 1, 2),
                 {steps, rows, segment * features});
}

// Layers over some steps; what they compute is added to a trace, if there is one.
static RecurrentOutput run(const RecurrentLayer& layers, const Var& x, const RecurrentVars& state,
                           SeriesNetwork::Trace* trace) {
  if (!trace) return layers(x, state);
  const RecurrentTrace seen = layers.trace(x, state);
  trace->gates = seen.gate_names;
  trace->cells.resize(seen.cells.size());
  for (size_t k = 0; k < seen.cells.size(); ++k) {
    CellTrace& all = trace->cells[k];
    const CellTrace& more = seen.cells[k];
    all.gates.insert(all.gates.end(), more.gates.begin(), more.gates.end());
    all.h.insert(all.h.end(), more.h.begin(), more.h.end());
    all.c.insert(all.c.end(), more.c.begin(), more.c.end());
  }
  return {seen.y, seen.state};
}

RecurrentOutput SeriesNetwork::encode(const Var& x, const Tracing* tracing) const {
  const RecurrentVars begin = encoder_->zero_state(x.dim(1));
  if (!tracing) return run(*encoder_, x, begin, nullptr);
  if (tracing->step < 0) return run(*encoder_, x, begin, &tracing->trace);
  const int steps = x.dim(0);
  if (decoder_) {
    const NoTape constant;
    return run(*encoder_, x, begin, nullptr);
  }
  RecurrentVars before = begin;
  if (steps > 1) {
    const NoTape constant;
    before = run(*encoder_, slice(x, 0, 0, steps - 1), begin, nullptr).state;
  }
  return run(*encoder_, slice(x, 0, steps - 1, steps), before, &tracing->trace);
}

// To forecast, of each target from its own values; to detect, of all inputs, which then stand one after the
// other as a single channel.
Var SeriesNetwork::linear_path(const Var& x) const {
  const int rows = x.dim(1);
  std::vector<int> channels;
  if (!recipe_.detects()) {
    for (int k = 0; k < width(); ++k) channels.push_back(feature_of(k));
    return reshape((*highway_)(x, channels), {rows, highway_->config.out * width()});
  }
  Vars inputs;
  for (int c = 0; c < columns_.inputs; ++c) inputs.push_back(last_values(x, c, recipe_.model.highway));
  const Var all = transpose(concat(inputs, 1));
  return reshape((*highway_)(reshape(all, {all.dim(0), rows, 1}), std::array{0}), {rows, 1});
}

// The decoder begins with the last row read, and goes on with what it forecast (of the middle quantile).
Vars SeriesNetwork::encode_and_decode(const Prepared& prepared, const Tracing* tracing) const {
  const Var& x = prepared.x;
  const int rows = x.dim(1);
  RecurrentVars state = encode(x, tracing).state;
  Var read;
  {
    const Var last = row(x, x.dim(0) - 1);  // [rows, features]
    Vars values;
    for (int k = 0; k < width(); ++k) values.push_back(slice(last, 1, feature_of(k), feature_of(k) + 1));
    read = concat(values, 1);
  }
  const bool one = tracing && tracing->step >= 0;
  std::vector<Vars> parts(static_cast<size_t>(recipe_.outputs()));
  for (int step = 0; step < (one ? tracing->step + 1 : recipe_.horizon()); ++step) {
    std::optional<NoTape> constant;
    if (one && step < tracing->step) constant.emplace();
    if (columns_.ahead() > 0)  // of that step
      read = concat(Vars{read, slice(prepared.ahead, 0, step * rows, (step + 1) * rows)}, 1);
    const auto [y, next] = run(*decoder_, reshape(read, {1, rows, read.dim(1)}), state,
                               tracing && !constant ? &tracing->trace : nullptr);
    const Vars values = by_output((*head_)((*dropout_)(row(y, 0))));
    for (size_t k = 0; k < parts.size(); ++k) parts[k].push_back(values[k]);
    state = next;
    read = values[static_cast<size_t>(recipe_.middle_output())];
  }
  Vars result;
  for (const Vars& part : parts) result.push_back(one ? part.back() : concat(part, 1));
  return result;
}

// A step for each segment of the horizon, all from the state after the window: [segments * rows, …].
Vars SeriesNetwork::decode_segments(const RecurrentVars& state, int rows, int target) const {
  const int segment = recipe_.model.segment, segments = recipe_.horizon() / segment, all = segments * rows;
  const int targets = channel_.dim(0);
  std::vector<int32_t> positions, channels;
  for (int k = 0; k < all; ++k) {
    positions.push_back(k / rows);
    channels.push_back(target >= 0 ? target : k % rows % targets);
  }
  const Var read = concat(Vars{embedding(position_, IdTensor::from(Shape{all}, positions)),
                               embedding(channel_, IdTensor::from(Shape{all}, channels))},
                          1);
  const auto repeated = [&](const Var& of_layers) {  // [layers, rows, width]
    return of_layers.value().defined() ? concat(Vars(static_cast<size_t>(segments), of_layers), 1) : Var();
  };
  const Var y = (*encoder_)(reshape(read, {1, all, read.dim(1)}), {repeated(state.h), repeated(state.c)}).y;
  Vars result;
  for (const Var& values : by_output((*head_)((*dropout_)(row(y, 0)))))
    result.push_back(
        reshape(transpose(reshape(values, {segments, rows, segment}), 0, 1), {rows, segments * segment}));
  return result;
}

// Of each row over time, the first and the last value repeated beyond the ends.
Var SeriesNetwork::moving_average(const Var& x) const {
  const int window = x.dim(1), length = recipe_.model.moving_average, before = (length - 1) / 2;
  const auto value = [&](int k) { return std::clamp(k, 0, window - 1); };
  if (x.wants_grad()) {  // as a product, which has a gradient
    const Tensor weights = Tensor::zeros({window, window});
    const auto to = weights.on_host(Access::change);
    for (int t = 0; t < window; ++t)
      for (int k = t - before; k < t - before + length; ++k)
        to[int64_t{t} * window + value(k)] += real(1) / static_cast<real>(length);
    return unroll::linear(x, weights);
  }
  Tensor average(x.shape());
  const auto all = x.value().on_host();
  const auto averages = average.on_host(Access::overwrite);
  const int64_t size = x.dim(0) > 0 ? x.value().size() / x.dim(0) : 0;
  for (int row = 0; row < x.dim(0); ++row) {
    const real* values = all.data() + row * size;
    for (int t = 0; t < window; ++t) {
      double sum = 0;
      for (int k = t - before; k < t - before + length; ++k) sum += values[value(k)];
      averages[row * size + t] = static_cast<real>(sum / length);
    }
  }
  return average;
}

Var SeriesNetwork::loss(const SeriesBatch& batch) const {
  const Vars y = outputs(prepare(batch.input));
  const Tensor target = in_rows(batch.target),
               weights = batch.weights.defined() ? in_rows(batch.weights) : Tensor();
  if (recipe_.detects())
    return binary_cross_entropy(
        y[0], target, {.pos_weight = static_cast<real>(recipe_.training.pos_weight), .weights = weights});
  return recipe_.has_quantiles() ? quantile_loss(y, target, recipe_.training.quantiles, {.weights = weights})
                                 : mean_squared_error(y[0], target, {.weights = weights});
}

Tensor SeriesNetwork::predict(const Tensor& input) const {
  const NoTape guard;
  const Vars y = outputs(prepare(input));
  const int horizon = recipe_.horizon(), batch = input.dim(1),
            targets = static_cast<int>(columns_.targets.size());
  Tensor result({static_cast<int>(y.size()), horizon, batch, targets});
  const auto all = result.on_host(Access::overwrite);
  real* to = all.data();
  for (const Var& values : y) {
    const auto from = values.value().on_host();
    for (int step = 0; step < horizon; ++step)
      for (int window = 0; window < batch; ++window)
        for (int k = 0; k < targets; ++k) *to++ = from[place(step, window, k)];
  }
  // Quantiles that were learnt one by one may cross: in order they are no worse (Chernozhukov, Fernández-Val, Galichon 2010).
  if (const int64_t values = result.size() / result.dim(0); result.dim(0) > 1) {
    std::vector<real> quantiles(y.size());
    for (int64_t i = 0; i < values; ++i) {
      for (size_t q = 0; q < y.size(); ++q) quantiles[q] = all[static_cast<int64_t>(q) * values + i];
      std::ranges::sort(quantiles);
      for (size_t q = 0; q < y.size(); ++q) all[static_cast<int64_t>(q) * values + i] = quantiles[q];
    }
  }
  if (recipe_.detects())
    for (real& v : all) v = static_cast<real>(1 / (1 + std::exp(-static_cast<double>(v))));
  return result;
}

}  // namespace timeseries
