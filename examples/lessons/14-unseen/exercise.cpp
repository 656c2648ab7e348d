// Lesson 14: a net that never saw your series. The page to read: examples/lessons/14-unseen/README.md
#include "examples/lessons/14-unseen/check.h"

// The unit in which the net reads a series and answers: the mean of |month - same month a year before| over the last 24 months.
// past.ago(1) is the last known month, past.ago(13) the same month a year before.
double unit_of(const Past& past) {
  double unit = 0;
  // ---- your part
  unit = 1;
  // ---- end of your part
  return unit;
}

// 24 months of changes against the year before -> the changes of the 24 months to come, all in units.
struct Forecaster {
  ParameterSet params;
  Lstm lstm{params / "lstm", {.input = 1, .hidden = 24, .forget_bias = 1}};
  Dense out{params / "out", {.in = 24, .out = horizon}};

  Var operator()(const Tensor& x) const { return out(row(lstm(x, lstm.zero_state(x.dim(1))).state.h, 0)); }
};

// Each step draws new series, so the net reads none of them twice.
Forecaster train() {
  Forecaster model;
  Adam adam(model.params, {.learning_rate = 5e-3});
  RandomStream random(14, "series");
  for (int step = 0; step < 400; ++step) {
    const Batch batch = drawn_batch(random, 64, unit_of);
    Tape tape;
    tape.backward(mean_squared_error(model(batch.x), batch.target));
    adam.step({.max_norm = 1});
  }
  return model;
}

void lesson() {
  check_unit(unit_of);
  const Forecaster model = train();
  const Series series = passengers();  // for the first time
  check_unseen({.seasonal = score(series, [](const Past& past, int k) { return past.ago(12 - k % 12); }),
                .grown = score(series, seasonal_growth),
                .unseen = score(series, unseen_forecasts(model, unit_of))});
}
