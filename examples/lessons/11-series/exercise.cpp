// Lesson 11: a series, and the baseline to beat. The page to read: examples/lessons/11-series/README.md
#include "examples/lessons/11-series/check.h"

// The seasonal naive forecast: what it was in the same month, the last time that is known.
// past.ago(1) is the last month that is known, past.ago(12) the one that is 12 months before the month to come.
// k = 0 is the month to come, k = 1 the one after it; up to 23, two years.
double seasonal_naive(const Past& past, int k) {
  // ---- your part
  return past.ago(1);
  // ---- end of your part
}

// A small LSTM forecasts how a month will compare with the same month a year before: log(y[t] / y[t-12]).
struct Forecaster {
  ParameterSet params;
  Lstm lstm{params / "lstm", {.input = 1, .hidden = 8}};
  Dense out{params / "out", {.in = 8, .out = 1}};

  // growth [window, batch, 1] -> that of the month after the window [batch, 1]
  Var operator()(const Tensor& growth) const {
    return out(row(lstm(growth, lstm.zero_state(growth.dim(1))).state.h, 0));
  }
};

Forecaster train(const Series& series) {
  Forecaster model;
  Adam adam(model.params, {.learning_rate = 1e-2});
  const Windows windows = windows_of(series);  // of the training part, all in one batch
  for (int step = 0; step < 200; ++step) {
    Tape tape;
    tape.backward(mean_squared_error(model(windows.x), windows.target));
    adam.step({.max_norm = 1});
  }
  return model;
}

void lesson() {
  check_naive(seasonal_naive);
  const Series series = passengers();
  const Forecaster model = train(series);
  check_scores({.last_value = score(series, [](const Past& past, int) { return past.ago(1); }),
                .seasonal = score(series, seasonal_naive),
                .grown = score(series, seasonal_growth),
                .model = score(series, forecasts_of(model))});
}
