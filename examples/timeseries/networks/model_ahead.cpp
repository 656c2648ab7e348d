// What is known of the rows to forecast, as the networks read it.
#include <algorithm>
#include <cmath>

#include "examples/timeseries/networks/model.h"

namespace timeseries {

// As the window's columns are normalized, these are too; a feature of the calendar alone where the last row's is subtracted
// from a linear network's window, whose last value it goes with.
Tensor SeriesNetwork::ahead_of(const Tensor& input) const {
  const int window = recipe_.data.window, horizon = recipe_.horizon(), batch = input.dim(1),
            each = by_channel() ? static_cast<int>(columns_.targets.size()) : 1,
            known = static_cast<int>(columns_.known.size());
  const auto normalization = recipe_.model.normalization;
  const Tensor ahead({horizon * batch * each, known});
  const auto all = input.on_host();
  const auto to = ahead.on_host(Access::overwrite);
  for (int b = 0; b < batch; ++b)
    for (int k = 0; k < known; ++k) {
      const int column = columns_.known[static_cast<size_t>(k)];
      const auto at = [&](int row) {
        return double{all[(int64_t{row} * batch + b) * columns_.inputs + column]};
      };
      const bool is_calendar = column >= columns_.inputs - columns_.calendar;
      double shift = 0, scale = 1;
      if (normalization == Normalization::last && (!is_calendar || linear())) shift = at(window - 1);
      if (normalization == Normalization::window && !is_calendar) {
        double squares = 0;
        for (int row = 0; row < window; ++row) shift += at(row) / window;
        for (int row = 0; row < window; ++row) squares += (at(row) - shift) * (at(row) - shift) / window;
        scale = std::sqrt(squares + least_deviation);
      }
      for (int step = 0; step < horizon; ++step)
        for (int copy = 0; copy < each; ++copy)
          to[((int64_t{step} * batch + b) * each + copy) * known + k] =
              static_cast<real>((at(window + step) - shift) / scale);
    }
  return ahead;
}

void SeriesNetwork::make_ahead(const std::function<Scope(const char*)>& place) {
  const int known = columns_.ahead(), out = recipe_.outputs() * width();
  if (known == 0 || decoder_) return;
  if (linear()) {
    ahead_.emplace(place("ahead"), DenseConfig{.in = known, .out = out, .bias = false});
    return;
  }
  const int hidden = recipe_.model.hidden;
  ahead_.emplace(place("ahead"), DenseConfig{.in = known, .out = hidden, .bias = false});
  ahead_state_.emplace(place("ahead_state"), DenseConfig{.in = recipe_.model.output(), .out = hidden});
  ahead_head_.emplace(place("ahead_head"), DenseConfig{.in = hidden, .out = out, .bias = false});
}

void SeriesNetwork::add_ahead(Vars& y, const Var& ahead, const Var& state) const {
  const int horizon = recipe_.horizon(), rows = ahead.dim(0) / horizon;
  Var read = (*ahead_)(ahead);
  if (ahead_state_)
    read = (*ahead_head_)(relu(read + concat(Vars(static_cast<size_t>(horizon), (*ahead_state_)(state)), 0)));
  const Vars by_output = this->by_output(read);
  for (size_t q = 0; q < y.size(); ++q)
    y[q] = y[q] + reshape(transpose(reshape(by_output[q], {horizon, rows, width()}), 0, 1),
                          {rows, horizon * width()});
}

}  // namespace timeseries
