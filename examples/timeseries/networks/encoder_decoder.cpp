// An encoder over the window, and a decoder that goes on from its state a step at a time.
#include "examples/timeseries/networks/network.h"
#include "framework/ops.h"

namespace timeseries {

struct EncoderDecoder : Network {
  explicit EncoderDecoder(const NetworkPlan& p)
      : plan(p),
        encoder(plan.recurrent(facts_of(plan.keys.cell).name, plan.features())),
        decoder(plan.recurrent("decoder", plan.width() + plan.columns.ahead())),
        dropout(plan.dropout()),
        head(plan.dense("head", plan.keys.output(), plan.outputs())) {}

  // The decoder begins with the last row read, and goes on with its own forecasts, of the middle quantile.
  Var operator()(const Window& window) const override {
    const int rows = window.rows(), width = plan.width(), outputs = plan.task.outputs(),
              first = std::max(0, window.step), end = window.step < 0 ? plan.task.horizon : window.step + 1;
    std::optional<NoTape> constant;
    if (window.step >= 0) constant.emplace();
    RecurrentVars state = window.run(encoder, window.x, encoder.zero_state(rows)).state;
    constant.reset();
    const Var last = row(window.x, -1);  // [rows, features]
    Vars values, steps;
    for (int k = 0; k < width; ++k)
      values.push_back(slice(last, 1, plan.feature_of(k), plan.feature_of(k) + 1));
    Var read = concat(values, 1);
    for (int step = 0; step < end; ++step) {
      if (step < first) constant.emplace();
      if (window.ahead.value().defined())
        read = concat(Vars{read, slice(window.ahead, 0, step * rows, (step + 1) * rows)}, 1);
      const auto [h, next] = window.run(decoder, reshape(read, {1, rows, read.dim(1)}), state);
      const Var y = head(dropout(row(h, 0)));  // [rows, outputs * width]
      if (step >= first) steps.push_back(y);
      state = next;
      read = outputs == 1 ? y : slice(y, 1, plan.task.middle * width, (plan.task.middle + 1) * width);
      constant.reset();
    }
    return reshape(transpose(reshape(concat(steps, 1), {rows, -1, outputs, width}), 1, 2), {rows, -1});
  }
  const RecurrentLayer* recurrent() const override { return &encoder; }

  const NetworkPlan plan;
  RecurrentLayer encoder, decoder;
  Dropout dropout;
  Dense head;
};

std::unique_ptr<Network> make_encoder_decoder(const NetworkPlan& plan) {
  return std::make_unique<EncoderDecoder>(plan);
}

}  // namespace timeseries
