// SegRNN (Lin, Lin, Wu, Zhao, Mo and Zhang 2023): each target alone, in segments. After the window the same layers take
// one step for each segment of the horizon, all from the last state.
#include <fmt/format.h>

#include "examples/timeseries/networks/network.h"
#include "framework/ops.h"

namespace timeseries {

struct SegmentRnn : Network {
  explicit SegmentRnn(const NetworkPlan& p)
      : plan(p),
        layers(plan.recurrent(facts_of(plan.keys.cell).name, plan.keys.hidden)),
        segment(plan.place("segment"), {.in = plan.keys.segment * plan.features(),
                                        .out = plan.keys.hidden,
                                        .activation = Activation::relu}),
        position(table("position", plan.task.horizon / plan.keys.segment)),
        channel(table("channel", plan.targets())),
        dropout(plan.dropout()),
        head(plan.dense("head", plan.keys.output(), plan.keys.segment * plan.outputs())) {}

  Var table(const char* name, int rows) const {
    return plan.place(name).add("weight", {rows, plan.keys.hidden / 2}, Init::normal(0, 1)).var();
  }

  Var operator()(const Window& window) const override {
    const int rows = window.rows(), segments = position.dim(0), all = segments * rows;
    const RecurrentVars state =
        window.run(layers, segment(in_segments(window.x, plan.keys.segment)), layers.zero_state(rows)).state;
    std::vector<int32_t> positions, channels;
    for (int k = 0; k < all; ++k) {
      positions.push_back(k / rows);
      channels.push_back(window.targets[static_cast<size_t>(k % rows) % window.targets.size()]);
    }
    const Var read = concat(Vars{embedding(position, IdTensor::from(Shape{all}, positions)),
                                 embedding(channel, IdTensor::from(Shape{all}, channels))},
                            1);
    const auto repeated = [&](const Var& of_layers) {  // [layers, rows, width]
      return of_layers.value().defined() ? concat(Vars(static_cast<size_t>(segments), of_layers), 1) : Var();
    };
    const Var h = layers(reshape(read, {1, all, read.dim(1)}), {repeated(state.h), repeated(state.c)}).y;
    const Var y = reshape(head(dropout(row(h, 0))), {segments, rows, plan.task.outputs(), plan.keys.segment});
    return reshape(permute(y, {1, 2, 0, 3}), {rows, -1});
  }
  const RecurrentLayer* recurrent() const override { return &layers; }

  const NetworkPlan plan;
  RecurrentLayer layers;
  Dense segment;          // a segment's values to what the layers read
  Var position, channel;  // what they read of the horizon's segments, and of the targets: [.., hidden / 2]
  Dropout dropout;
  Dense head;
};

std::unique_ptr<Network> make_segment_rnn(const NetworkPlan& plan) {
  return std::make_unique<SegmentRnn>(plan);
}

KeyFault fault_in_segment_rnn(const NetworkKeys& keys, int horizon) {
  if (horizon % keys.segment != 0)
    return {"model.segment",
            fmt::format("= {} does not divide the horizon's {} rows (data.horizon)", keys.segment, horizon)};
  if (keys.hidden % 2 != 0)
    return {"model.hidden", "must be even: half of it says which segment, half which target"};
  return {};
}

}  // namespace timeseries
