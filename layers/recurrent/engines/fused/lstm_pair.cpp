// One kernel each way for all steps of two layers (layers/recurrent/engines/fused/layer_pair.h).
#include "layers/recurrent/engines/fused/lstm_one_kernel.h"

namespace unroll::fused {

namespace {

// Says what lies between the layers. x: of the upper, that the kernel is to write; undefined on the way back.
BetweenLayers between(const LayerPair& pair, const LstmLayerWindow& upper, const RoundedTensor& rounded_ih,
                      Tensor x = {}) {
  BetweenLayers b{.weight_ih = upper.layer.weight_ih.value().data(),
                  .rounded_weight_ih = rounded_ih.copy().data,
                  .rounded_x = upper.rounded_x.copy()};
  if (!pair.mask.defined()) return b;
  const bool locked = pair.mask.shape().rank() == 2;
  const Tensor mask = pair.mask;
  b.mask = locked ? mask.data() : mask[0].data(), b.second_mask = locked ? b.mask : mask[1].data();
  if (x.defined()) b.x = x[0].data(), b.second_x = x[1].data();
  return b;
}

// While one lives, this thread's writes count as those of that time.
struct WrittenAt {
  explicit WrittenAt(uint64_t time) : before(std::exchange(WriteTime::bound, time)) {}
  ~WrittenAt() { WriteTime::bound = before; }
  WrittenAt& operator=(WrittenAt&&) = delete;
  const uint64_t before;
};

// The lower's tensors were to be written by the upper's backward, and were not: its own may read them.
void count_as_not_written(LstmLayerWindow& lower, uint64_t asked) {
  const WrittenAt earlier(asked);
  for (Tensor* tensor : {&lower.gates, &lower.h, &lower.c, &lower.cell, &lower.out, &lower.dpeepholes})
    if (tensor->defined()) tensor->data();
}

void put_late_outputs(LstmLayerWindow& lower) {
  lower.late[0].copy_from(lower.h[lower.steps]);
  lower.late[1].copy_from(lower.c[lower.steps]);
}

bool forward_together(const std::shared_ptr<LstmLayerWindow>& lower, LstmLayerWindow& upper,
                      LayerPair& pair) {
  const auto when_asked = [&](auto work) {
    const WrittenAt earlier(pair.asked);
    return work();
  };
  ForwardInKernel below = when_asked([&] { return ForwardInKernel(*lower); });
  const LstmWindow of_lower = when_asked([&] { return below.window(pair.plan); });
  ForwardInKernel above(upper, true);
  const RoundedTensor rounded_ih = rounded(upper.layer.weight_ih);
  if (RoundedTensor::is_of_use()) upper.rounded_x = RoundedTensor(upper.x.shape());
  pair.together =
      in_this_precision(persistent_lstm_pair())
          .forward({of_lower, above.window(pair.plan), between(pair, upper, rounded_ih, upper.x.value())});
  if (pair.together) {
    upper.lower = lower;
  } else {
    upper.rounded_x = {};
    refuse_one_kernel(pair.plan);
    PartInLane lane = when_asked([&] { return PartInLane(lower->masks.part, PartInLane::Way::forward); });
    when_asked([&] { forward_by_steps(*lower, lane); });
    if (pair.mask.defined()) pair.drop(lower->h.slice(1, lower->steps + 1), upper.x.value());
  }
  put_late_outputs(*lower);
  return pair.together;
}

}  // namespace

bool forward_with_other_layer(const std::shared_ptr<LstmLayerWindow>& window) {
  LayerPair* const pair = window->masks.part.pair.get();
  if (!pair || one_kernel_was_refused()) return false;
  const std::shared_ptr<LstmLayerWindow> lower = std::exchange(pair->lower, {});
  if (lower) return forward_together(lower, *window, *pair);
  pair->lower = window, pair->asked = WriteTime::next();
  return true;
}

void keep_outputs(const LstmLayerWindow& window, const std::array<Var, 3>& outputs) {
  LayerPair* const pair = window.masks.part.pair.get();
  if (pair && pair->lower.get() == &window) pair->outputs = outputs;
}

bool backward_with_other_layer(LstmLayerWindow& upper, const Var& y, const Var& h_last, const Var& c_last) {
  LayerPair* const pair = upper.masks.part.pair.get();
  if (!pair || !pair->together) return false;
  if (!upper.lower) return pair->went_back;  // it is the lower
  const auto& [lower_y, lower_h, lower_c] = pair->outputs;
  if (!lower_y.wants_grad()) return false;
  LstmBackward above(upper, y, h_last, c_last, true), below(*upper.lower, lower_y, lower_h, lower_c);
  const RoundedTensor rounded_ih = rounded(upper.layer.weight_ih);
  {
    BackwardInKernel of_upper(above), of_lower(below);
    if (!in_this_precision(persistent_lstm_pair())
             .backward({of_lower.window(pair->plan), of_upper.window(pair->plan),
                        between(*pair, upper, rounded_ih)}))
      return count_as_not_written(*upper.lower, pair->asked), refuse_one_kernel(pair->plan);
  }
  pair->went_back = true;
  above.contribute(), below.contribute();
  return true;
}

}  // namespace unroll::fused
