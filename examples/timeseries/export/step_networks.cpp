#include "examples/timeseries/export/step_networks.h"

namespace timeseries {

namespace {

// y[i step] = x[i x_step]
void move(StepBuilder& step, int n, const StepVector& y, int y_step, const StepVector& x, int x_step) {
  step.call({.kernel = "move", .sizes = {n, y_step, x_step}, .places = {y.place, x.place}});
}

// A row of the network: one window, or by channel one target of it, in a loop over targets.
struct Row {
  StepBuilder& step;
  const NetworkPlan& plan;
  StepVector x;      // [window, features]
  StepVector ahead;  // [horizon, Columns::ahead()]; of no numbers: nothing is known
  StepVector y;      // [outputs, horizon, width]

  int window() const { return plan.task.window; }
  int horizon() const { return plan.task.horizon; }
  int outputs() const { return plan.task.outputs(); }
  std::string encoder() const { return facts_of(plan.keys.cell).name; }
  StepVector dense(const std::string& name, int out, const StepVector& in, bool bias = true) const {
    return step.dense(name + ".weight", bias ? name + ".bias" : "", out, in);
  }
  RecurrentPlaces zero_state(const std::string& name, int input) const {
    return step.recurrent_state(name, plan.keys.cell, plan.keys.layers_of(input), StepArray::Kind::work);
  }
  StepVector recurrent(const std::string& name, const StepVector& in, const RecurrentPlaces& state) const {
    return step.recurrent(name, plan.keys.cell, plan.keys.layers_of(in.size), in, state);
  }
  // The last `length` values of a feature.
  StepVector last_values(const std::string& name, int feature, int length) const {
    const StepVector values = step.work(name, length),
                     from = x.part((window() - length) * plan.features() + feature, x.size);
    move(step, length, values, 1, from, plan.features());
    return values;
  }

  void add_highway() const;
  void add_ahead(const StepVector& state = {}) const;
  void direct() const;
  void segment_rnn() const;
  void linear() const;
};

// As Direct::linear_path.
void Row::add_highway() const {
  const int length = plan.keys.highway, width = plan.width();
  if (plan.task.detects) {
    const StepVector all = step.work("highway_x", length * plan.columns.inputs);
    for (int c = 0; c < plan.columns.inputs; ++c)
      step.copy(all.part(c * length, (c + 1) * length), last_values("highway_values", c, length));
    return step.call("add", y, {dense("highway", y.size, all)});
  }
  for (int k = 0; k < width; ++k) {
    const StepVector path =
        dense("highway", outputs() * horizon(), last_values("highway_x", plan.feature_of(k), length));
    step.call({.kernel = "add_apart",
               .sizes = {path.size, width},
               .places = {y.part(k, y.size).place, path.place}});
  }
}

// As Ahead.
void Row::add_ahead(const StepVector& state) const {
  if (ahead.size == 0) return;
  const int known = plan.columns.ahead(), width = plan.width();
  const StepVector of_state = state.size > 0 ? dense("ahead_state", plan.keys.hidden, state) : StepVector();
  step.loop(horizon());
  StepVector read = dense("ahead", state.size > 0 ? plan.keys.hidden : plan.outputs(),
                          step.turned(ahead.part(0, known), known), false);
  if (state.size > 0) {
    step.call("add", read, {of_state});
    step.call("relu", read);
    read = dense("ahead_head", plan.outputs(), read, false);
  }
  for (int k = 0; k < outputs(); ++k) {
    const int at = k * horizon() * width;
    step.call("add", step.turned(y.part(at, at + width), width), {read.part(k * width, (k + 1) * width)});
  }
  step.end_loop();
}

void Row::direct() const {
  const int read = plan.keys.segment * plan.features();
  const RecurrentPlaces state = zero_state(encoder(), read);
  step.loop(window() / plan.keys.segment);
  const StepVector last = recurrent(encoder(), step.turned(x.part(0, read), read), state);
  step.end_loop();
  // [outputs, horizon, width]
  step.copy(y, dense("head", y.size, last));
  if (plan.keys.highway > 0) add_highway();
  add_ahead(last);
}

void Row::segment_rnn() const {
  const int segment = plan.keys.segment, hidden = plan.keys.hidden, half = hidden / 2,
            segments = horizon() / segment;
  const int read = segment * plan.features();
  const StepVector position = step.constant({"position.weight", {segments, half}}),
                   channel = step.constant({"channel.weight", {plan.targets(), half}});
  const StepVector of_target = step.work("of_target", half), place = step.work("place", hidden);
  step.copy(of_target, step.turned(channel.part(0, half), half));  // in the loop over targets
  const RecurrentPlaces state = zero_state(encoder(), hidden), again = zero_state("again", hidden);
  step.loop(window() / segment);
  const StepVector seen = dense("segment", hidden, step.turned(x.part(0, read), read));
  step.call("relu", seen);
  recurrent(encoder(), seen, state);
  step.end_loop();
  step.loop(segments);
  for (size_t k = 0; k < state.h.size(); ++k) step.copy(again.h[k], state.h[k]);
  for (size_t k = 0; k < state.c.size(); ++k) step.copy(again.c[k], state.c[k]);
  step.copy(place.part(0, half), step.turned(position.part(0, half), half));
  step.copy(place.part(half, hidden), of_target);
  const StepVector found = dense("head", segment * outputs(), recurrent(encoder(), place, again));
  for (int k = 0; k < outputs(); ++k)
    step.copy(step.turned(y.part(k * horizon(), k * horizon() + segment), segment),
              found.part(k * segment, (k + 1) * segment));
  step.end_loop();
}

void Row::linear() const {
  step.copy(y, dense("linear", y.size, last_values("values", 0, window())));
  add_ahead();
}

struct StepNetwork {
  std::string_view word;  // of series_networks
  void (Row::*add)() const;
};
constexpr StepNetwork step_networks[] = {
    {"direct", &Row::direct}, {"segment-rnn", &Row::segment_rnn}, {"linear", &Row::linear}};

// As SeriesNetwork::window: a window, normalised, and each row's features.
struct Reader {
  StepBuilder& step;
  const NetworkPlan& plan;
  StepVector input;  // [rows, inputs]
  int inputs = plan.columns.inputs, rows = plan.rows_read();
  StepVector level = {}, deviation = {};  // by column

  bool is_recurrent() const { return plan.keys.architecture->is_recurrent(); }

  void normalize() {
    const bool by_last = plan.keys.normalization == Normalization::last,
               by_mean = plan.keys.normalization == Normalization::window;
    const int values = by_mean || (by_last && is_recurrent()) ? inputs - plan.columns.calendar : inputs;
    if (!by_last && !by_mean) return;
    level = step.work("level", values);
    if (by_mean) {
      deviation = step.work("deviation", values);
      return step.call({.kernel = "standardize",
                        .sizes = {rows, inputs, values, plan.task.window},
                        .places = {input.place, level.place, deviation.place}});
    }
    const int last = (plan.task.window - 1) * inputs;
    step.copy(level, input.part(last, last + values));
    step.loop(rows);
    step.call("subtract", step.turned(input.part(0, values), inputs), {level});
    step.end_loop();
  }

  // Writes columns of rows first … of the input to `to` [count, wide].
  void add_columns(const StepVector& to, int wide, const std::vector<int>& columns, int first,
                   int count) const {
    int at = 0;
    for (const int column : columns)
      move(step, count, to.part(at++, to.size), wide, input.part(first * inputs + column, input.size),
           inputs);
  }
  StepVector features(const std::vector<int>& columns) const {
    const int wide = plan.features();
    const StepVector x = step.work("features", plan.task.window * wide);
    add_columns(x, wide, columns, 0, plan.task.window);
    return x;
  }
  StepVector ahead() const {
    const int wide = plan.columns.ahead();
    if (wide == 0) return {};
    const StepVector known = step.work("known", plan.task.horizon * wide);
    add_columns(known, wide, plan.columns.known, plan.task.window, plan.task.horizon);
    return known;
  }
};

void run_network(const Row& row) {
  const std::string_view word = row.plan.keys.architecture->word;
  const auto found = std::ranges::find(step_networks, word, &StepNetwork::word);
  require_input(found != std::end(step_networks), "a step: model.architecture = \"{}\" has no equations here",
                word);
  (row.*found->add)();
}

// y [outputs, horizon, width] back to the input's scale: the level and deviation of each of `width` targets.
void undo(StepBuilder& step, const StepVector& y, const StepVector& deviation, const StepVector& level) {
  const int width = level.size;
  step.loop(y.size / width);
  if (deviation.size > 0) step.call("multiply", step.turned(y.part(0, width), width), {deviation});
  step.call("add", step.turned(y.part(0, width), width), {level});
  step.end_loop();
}

}  // namespace

StepVector forecast_step(StepBuilder& step, const NetworkPlan& plan, const StepVector& input) {
  const int targets = plan.targets(), width = plan.width(), outputs = plan.task.outputs(),
            horizon = plan.task.horizon;
  Reader reader{step, plan, input};
  reader.normalize();
  const StepVector ahead = reader.ahead(), y = step.work("row", outputs * horizon * width);
  // The levels and deviations of targets, in their order.
  const auto of_targets = [&](const char* name, const StepVector& all) {
    if (all.size == 0 || plan.task.detects) return StepVector();
    const StepVector chosen = step.work(name, targets);
    for (int k = 0; k < targets; ++k) {
      const int column = plan.columns.targets[static_cast<size_t>(k)];
      step.copy(chosen.part(k, k + 1), all.part(column, column + 1));
    }
    return chosen;
  };
  const StepVector level = of_targets("level_of_targets", reader.level),
                   deviation = of_targets("deviation_of_targets", reader.deviation);
  if (!plan.by_channel()) {
    std::vector<int> all(static_cast<size_t>(plan.columns.inputs));
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int>(k);
    run_network({step, plan, reader.features(all), ahead, y});
    if (level.size > 0) undo(step, y, deviation, level);
    if (plan.task.detects) step.call("sigmoid", y);
    if (outputs > 1) step.call({.kernel = "sort", .sizes = {outputs, horizon * width}, .places = {y.place}});
    return y;
  }
  const int window = plan.task.window, wide = plan.features();
  const StepVector all = step.work("forecasts", outputs * horizon * targets),
                   own = step.work("own", targets * window);
  for (int k = 0; k < targets; ++k)
    move(step, window, own.part(k * window, own.size), 1,
         input.part(plan.columns.targets[static_cast<size_t>(k)], input.size), plan.columns.inputs);
  std::vector<int> beside =
      plan.keys.architecture->is_recurrent() ? plan.columns.beside_target() : std::vector<int>();
  beside.insert(beside.begin(), 0);  // the target's own column, which each fills
  const StepVector x = reader.features(beside);
  step.loop(targets);
  move(step, window, x, wide, step.turned(own, window), 1);
  run_network({step, plan, x, ahead, y});
  if (level.size > 0) {
    const auto own_part = [&](const StepVector& of) {
      return of.size > 0 ? step.turned(of.part(0, 1), 1) : of;
    };
    undo(step, y, own_part(deviation), own_part(level));
  }
  move(step, y.size, step.turned(all, 1), targets, y, 1);
  step.end_loop();
  if (outputs > 1)
    step.call({.kernel = "sort", .sizes = {outputs, horizon * targets}, .places = {all.place}});
  return all;
}

}  // namespace timeseries
