// An optimizer of your own: descent by the sign of a running mean (Bernstein et al. 2018), in 24 lines.
// The base class does the rest: clipping, the scale of fp16, decay and rates by parameter, an average of the weights.
// The Trainer's checkpoints hold the optimizer's state: a training that was cut in two ends in the same bits.
#include <cstdio>
#include <filesystem>

#include "training/files/gradient_statistics.h"
#include "unroll.h"

using namespace unroll;

class Signum : public Optimizer {
 public:
  Signum(ParameterSet& params, double rate, double decay) : Optimizer(params, rate, decay) {}
  std::string_view name() const override { return "signum"; }
  OptimizerState state() override { return {{{"steps", &steps_}}, {{"mean", slab(mean_)}}, &learning_rate_}; }

 protected:
  void order(StepOrders&) override { ++steps_; }
  void update() override {
    const StepFacts step = step_facts();
    if (!step.go) return;  // the gradient is not finite, or overflowed in fp16
    const auto& ranges = complete_ranges();
    const auto w = params_.changed_values().on_host(Access::change), m = slab(mean_).on_host(Access::change);
    const auto g = params_.contributed_gradients().on_host();
    for (const Range& r : ranges)
      for (int64_t i = r.begin; i < r.begin + r.size; ++i) {
        m[i] = real(0.9) * m[i] + real(0.1 * step.scale) * g[i];  // clipped, and as if no loss was scaled
        const double direction = (m[i] > 0) - (m[i] < 0) + r.decay * double(w[i]);
        w[i] -= real(step.learning_rate * r.rate * direction);
      }
  }
  int64_t steps_ = 0;
  Tensor mean_;
};

// Learns y = 2 x for so many epochs; with a folder, from where a training in it stopped. Returns the weights'
// fingerprint.
std::string train(int epochs, const std::filesystem::path& folder) {
  ParameterSet params;
  const Dense line(params / "line", {.in = 1, .out = 1});
  params.at("line.bias").rate = 0.5f;
  Signum signum(params, 2e-2, 1e-3);
  signum.keep_average(0.9);
  Tensor x({16, 1}), y({16, 1});
  for (int i = 0; i < 16; ++i)
    x.on_host(Access::change)[i] = real(i) / 16, y.on_host(Access::change)[i] = real(i) / 8;
  const ProgressOptions silent{.mode = ProgressOptions::Mode::silent};
  Trainer trainer(signum, {.epochs = epochs, .clip = 1, .progress = silent, .folder = folder});
  const TrainingTask task{.windows = 20,
                          .loss = [&](int64_t) { return mean_loss(mean_squared_error(line(x), y), 16); }};
  trainer.resume(task);
  trainer.run(task);
  std::printf("%s after %d epochs: y = %.2f x + %.2f\n", folder.c_str(), epochs,
              static_cast<double>(line.weight(0, 0)), static_cast<double>(line.bias(0)));
  return fingerprint_of(params);
}

int main() {
  const std::string whole = train(10, "whole");
  train(4, "parts");  // stops, and goes on
  const std::string parts = train(10, "parts");
  std::printf("in one go and in two: %s\n", whole == parts ? "the same bits" : "different weights");
  return whole == parts ? 0 : 1;
}
