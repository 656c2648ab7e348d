// Temporal classification: labels are learned from frames that nobody aligned with them, as of speech or handwriting.
// It teaches ctc_loss, rows of different lengths in steps and in labels, and reading the labels off the best path.
//
// A row says up to five of four sounds. Each lasts two to four frames of a noisy pattern, with a pause of noise behind it.
#include <cstdio>

#include "unroll.h"

using namespace unroll;

constexpr int sounds = 4, most = 5, features = 6, steps = 30, batch = 32;  // class 0 is the blank

struct Rows {
  explicit Rows(RandomStream& random)
      : x({steps, batch, features}), labels({batch, most}), lengths({batch}), frames({batch}) {
    labels.fill(0);
    const auto values = x.on_host(Access::overwrite);
    for (real& v : values) v = static_cast<real>(0.3 * random.normal());
    for (int b = 0; b < batch; ++b) {
      int t = static_cast<int>(random.below(3));
      lengths.data()[b] = 1 + static_cast<int32_t>(random.below(most));
      for (int k = 0; k < lengths(b); ++k) {
        const auto sound = static_cast<int>(random.below(sounds));
        labels[b].data()[k] = sound + 1;
        for (const int end = t + 2 + static_cast<int>(random.below(3)); t < end; ++t)
          for (int f = sound; f < sound + 3; ++f) values[(t * batch + b) * features + f] += 1;
        t += 1 + static_cast<int>(random.below(2));
      }
      frames.data()[b] = t;
    }
  }
  Tensor x;
  IdTensor labels, lengths, frames;
};

struct Listener {
  ParameterSet params;
  Lstm lstm{params / "lstm", {.input = features, .hidden = 24, .bidirectional = true}};
  Dense out{params / "out", {.in = 48, .out = sounds + 1}};
  Var operator()(const Rows& rows) const {  // [steps, batch, sounds + 1]
    return out(lstm(rows.x, lstm.zero_state(batch), {rows.frames}).y);
  }
};

int main() {
  Listener model;
  Adam adam(model.params, {.learning_rate = 1e-2});
  RandomStream random(1, "sounds");
  for (int step = 1; step <= 150; ++step) {
    const Rows rows(random);
    Tape tape;
    const Var loss = ctc_loss(model(rows), rows.labels, rows.frames, rows.lengths);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }

  int right = 0;
  for (int i = 0; i < 10; ++i) {
    const Rows rows(random);
    const auto heard = ctc_best_path(model(rows), rows.frames);
    for (int b = 0; b < batch; ++b) {
      const std::vector<int32_t> said = rows.labels[b].slice(0, rows.lengths(b)).to_host();
      right += said == heard[static_cast<size_t>(b)];
    }
  }
  std::printf("%.1f %% of 320 new rows are heard without a mistake\n", right / 3.2);
  return right >= 300 ? 0 : 1;
}
