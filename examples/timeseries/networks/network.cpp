#include "examples/timeseries/networks/network.h"

#include <fmt/format.h>

#include "framework/ops.h"

namespace timeseries {

std::string networks_reading(std::string_view key, std::string_view last) {
  std::string text, word;
  for (const NetworkRow& row : series_networks) {
    if (!row.reads(key)) continue;
    if (!word.empty()) text += text.empty() ? word : ", " + word;
    word = last.empty() ? std::string(row.word) : fmt::format("\"{}\"", row.word);
  }
  return text.empty() ? word : fmt::format("{}{}{}", text, last.empty() ? ", " : last, word);
}

RecurrentConfig NetworkKeys::layers_of(int input) const {
  RecurrentConfig layers = *this;
  layers.input = input;
  if (cell != CellKind::lstm) layers.forget_bias = 0;  // the default is for LSTMs
  if (layers.layers == 1) layers.dropout = 0;          // then it acts only on the dense layer's input
  return layers;
}

std::vector<int> Columns::beside_target() const {
  std::vector<int> beside;
  for (const int column : known)
    if (column < inputs - calendar) beside.push_back(column);
  for (int column = inputs - calendar; column < inputs; ++column) beside.push_back(column);
  return beside;
}

int NetworkPlan::features() const {
  return by_channel() ? 1 + static_cast<int>(columns.beside_target().size()) : columns.inputs;
}

Var in_segments(const Var& x, int segment) {
  const int steps = x.dim(0) / segment, rows = x.dim(1), features = x.dim(2);
  if (segment == 1) return x;
  return reshape(transpose(reshape(x, {steps, segment, rows, features}), 1, 2),
                 {steps, rows, segment * features});
}

Ahead::Ahead(const NetworkPlan& plan, int state) : outputs_(plan.task.outputs()), width_(plan.width()) {
  const int known = plan.columns.ahead(), hidden = plan.keys.hidden;
  if (known == 0) return;
  read_ = plan.dense("ahead", known, state > 0 ? hidden : plan.outputs(), false);
  if (state == 0) return;
  state_ = plan.dense("ahead_state", state, hidden);
  head_ = plan.dense("ahead_head", hidden, plan.outputs(), false);
}

Var Ahead::operator()(const Var& y, const Window& window, const Var& state) const {
  if (!read_) return y;
  const int rows = window.rows(), horizon = window.ahead.dim(0) / rows;
  Var read = (*read_)(window.ahead);
  if (state_) read = (*head_)(relu(read + concat(Vars(static_cast<size_t>(horizon), (*state_)(state)), 0)));
  return y + reshape(permute(reshape(read, {horizon, rows, outputs_, width_}), {1, 2, 0, 3}), y.shape());
}

}  // namespace timeseries
