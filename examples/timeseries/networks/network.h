// A network of the table: what it is made from, what it reads, what it gives.
//
// Inside, a forecast has rows: one for each window, or for each window and target (`by_channel`). A row holds the
// values of the horizon for `width` targets side by side: all of them, or one.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/networks/networks.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/recurrent/recurrent_layer.h"

namespace timeseries {

// The columns of a window's input: the calendar's are the last ones.
struct Columns {
  int inputs = 0, calendar = 0;
  std::vector<int> targets;     // their columns among the inputs; -1: it is not read
  std::vector<int> known = {};  // the inputs that are known of the rows to forecast, too

  int ahead() const { return static_cast<int>(known.size()); }  // numbers that are known of a row to forecast
  // Columns that a row reads beside its target, if each target has its own: those that are known, then the calendar.
  std::vector<int> beside_target() const;
};

// The task of a network.
struct NetworkTask {
  std::string name;             // of the recipe, for messages
  int window = 0, horizon = 0;  // rows
  bool detects = false;
  std::vector<double> quantiles = {};  // ascending; empty: there is one output
  double pos_weight = 1;               // of the loss where the label is 1

  int outputs() const { return quantiles.empty() ? 1 : static_cast<int>(quantiles.size()); }
};

struct NetworkPlan {
  NetworkKeys keys;
  NetworkTask task;
  Columns columns;
  std::function<Scope(const std::string&)> place = {};  // of a layer's parameters; SeriesNetwork sets it

  int targets() const { return static_cast<int>(columns.targets.size()); }
  // The window, and the rows to forecast if some of their columns are known.
  int rows_read() const { return task.window + (columns.ahead() > 0 ? task.horizon : 0); }
  bool by_channel() const { return keys.by_channel(); }
  int width() const { return by_channel() ? 1 : targets(); }
  int outputs() const { return task.outputs() * width(); }  // numbers for each step
  // Numbers that recurrent layers read of a row of the window.
  int features() const;
  // A target's column in Window::x, and in the input. A target that is not read has the first.
  int feature_of(int target) const { return by_channel() ? 0 : input_of(target); }
  int input_of(int target) const { return std::max(0, columns.targets[target]); }
  // The place of a target's forecast of a step in an output of SeriesNetwork; by channel, in the target's row.
  int column_of(int step, int target) const { return step * width() + (by_channel() ? 0 : target); }

  RecurrentLayer recurrent(const std::string& name, int input) const {
    return {place(name), keys.cell, keys.layers_of(input)};
  }
  Dense dense(const std::string& name, int in, int out, bool bias = true) const {
    return {place(name), {.in = in, .out = out, .bias = bias}};
  }
  Dropout dropout() const { return {place("dropout"), {.rate = keys.dropout}}; }
};

// Windows as a network reads them.
struct Window {
  Var x;                           // [window, rows, features], normalized
  Var ahead = {};                  // [horizon * rows, Columns::ahead()]; undefined: nothing is known
  std::vector<int> targets;        // by channel: the rows' targets, in turns
  Var level = {}, deviation = {};  // [rows, 1, width]: y * deviation + level; undefined: no such
  // Runs recurrent layers. A caller that looks inside puts a function in its place that keeps what it sees.
  std::function<RecurrentOutput(const RecurrentLayer&, const Var& x, const RecurrentVars& state)> run =
      [](const auto& layers, const Var& read, const auto& state) { return layers(read, state); };

  int rows() const { return x.dim(1); }
};

class Network {
 public:
  virtual ~Network() = default;
  // [rows, outputs * horizon * width]; of a detector the logits [rows, 1]
  virtual Var operator()(const Window& window) const = 0;
  virtual const RecurrentLayer* recurrent() const { return nullptr; }  // nullptr: it has none
};

// --- parts that several networks have ------------------------------------------------------------------------

// [window, rows, features] -> [window / segment, rows, segment * features], in the order of time
Var in_segments(const Var& x, int segment);

// Adds to a forecast what is known of its rows; after recurrent layers beside their last state.
class Ahead {
 public:
  // `state`: the width of the state; 0: there is none.
  Ahead(const NetworkPlan& plan, int state);
  // y [rows, outputs * horizon * width], state [rows, width of the layers]
  Var operator()(const Var& y, const Window& window, const Var& state = {}) const;

 private:
  int outputs_, width_;
  std::optional<Dense> read_, state_, head_;
};

}  // namespace timeseries
