// An LSTM of 16 units and a dense layer, sample by sample: the C header, RealTimeStep and Stepper, beside RTNeural with
// -DRTNEURAL. With -DMAKE_HEADER it writes the header instead (bench/real_time.py).
#include <chrono>
#include <cstdio>

#include "export/c_header.h"
#include "export/real_time_step.h"
#include "export/step_of.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"

using namespace unroll;

constexpr int hidden = 16, samples = 48000;

struct Amp {
  ParameterSet params{1};
  Lstm lstm{params / "lstm", {.input = 1, .hidden = hidden}};
  Dense out{params / "out", {.in = hidden, .out = 1}};
};

#ifdef MAKE_HEADER
int main(int, char** words) {
  const Amp amp;
  write_c_header(words[1], step_of(amp.params, 1, RecurrentLayer(amp.lstm), amp.out), {.name = "amp"});
}
#else
#include "amp.h"
#ifdef RTNEURAL
#include <RTNeural/RTNeural.h>

// The header's weights lie as RTNeural takes them: input by input, gates i f g o.
static std::vector<std::vector<float>> rows(const float* from, int count, int width) {
  std::vector<std::vector<float>> result;
  for (int k = 0; k < count; ++k) result.emplace_back(from + k * width, from + (k + 1) * width);
  return result;
}
#endif

// The best of several seconds of sound, in seconds of sound for one of computing; and the last sample, to be compared.
template <class Step>
static void measure(const char* name, Step step) {
  double best = 0;
  float y = 0;
  for (int run = 0; run < 20; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (int t = 0; t < samples; ++t) y = step(static_cast<float>(t % 97) / 97 - 0.5f);
    best =
        std::max(best, 1 / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf("%s\t%.0f\t%.7f\n", name, best, static_cast<double>(y));
}

int main() {
  set_threads(1);
  const Amp amp;
  amp_state state;
  amp_reset(&state);
  RealTimeStep plan(step_of(amp.params, 1, RecurrentLayer(amp.lstm), amp.out));
  float* const x = plan["x"].data();
  const float* const y = plan["y"].data();
  Stepper stepper{RecurrentLayer(amp.lstm)};
  const Tensor in({1, 1}), out({1, 1});
#ifdef RTNEURAL
  RTNeural::ModelT<float, 1, 1, RTNeural::LSTMLayerT<float, 1, hidden>, RTNeural::DenseT<float, hidden, 1>>
      model;
  auto& lstm = model.get<0>();
  lstm.setWVals(rows(amp_lstm_weight_ih_l0, 1, 4 * hidden));
  lstm.setUVals(rows(amp_lstm_weight_hh_l0, hidden, 4 * hidden));
  lstm.setBVals(rows(amp_lstm_bias_l0, 1, 4 * hidden)[0]);
  model.get<1>().setWeights(rows(amp_out_weight, 1, hidden));
  model.get<1>().setBias(amp_out_bias);
  model.reset();
#endif
  for (int turn = 0; turn < 3; ++turn) {
    measure("C header", [&](float v) {
      float result;
      amp_step(&state, &v, &result);
      return result;
    });
    measure("RealTimeStep", [&](float v) {
      *x = v;
      plan();
      return *y;
    });
    measure("Stepper", [&](float v) {
      Tensor(in).fill(v);
      amp.out.compute(stepper(in), out);
      return out.item();
    });
#ifdef RTNEURAL
    measure("RTNeural", [&](float v) { return model.forward(&v); });
#endif
  }
}
#endif
