// Sample by sample: a C header, RealTimeStep and Stepper, beside RTNeural with -DRTNEURAL. Without amp.h it writes that header
// (bench/real_time.py).
#include <algorithm>
#include <cstdio>
#include <ctime>

float real_time_step(float x), stepper(float x);
void write_amp(const char* path);

#if !__has_include("amp.h")
int main(int, char** words) { write_amp(words[1]); }
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

// This thread's own time, so that a busy machine takes none of it.
static double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The best of several seconds of sound, in seconds of sound for one of computing; and the last sample, to be compared.
template <class Step>
static void measure(const char* name, Step step) {
  constexpr int samples = 48000;
  double best = 0;
  float y = 0;
  for (int run = 0; run < 20; ++run) {
    const double begin = seconds();
    for (int t = 0; t < samples; ++t) y = step(static_cast<float>(t % 97) / 97 - 0.5f);
    best = std::max(best, 1 / (seconds() - begin));
  }
  std::printf("%s\t%.0f\t%.7f\n", name, best, static_cast<double>(y));
}

int main() {
  amp_state state;
  amp_reset(&state);
#ifdef RTNEURAL
  constexpr int hidden = 16;
  RTNeural::ModelT<float, 1, 1, RTNeural::LSTMLayerT<float, 1, hidden>, RTNeural::DenseT<float, hidden, 1>> model;
  auto& lstm = model.get<0>();
  lstm.setWVals(rows(amp_lstm_weight_ih_l0, 1, 4 * hidden));
  lstm.setUVals(rows(amp_lstm_weight_hh_l0, hidden, 4 * hidden));
  lstm.setBVals(rows(amp_lstm_bias_l0, 1, 4 * hidden)[0]);
  model.get<1>().setWeights(rows(amp_out_weight, 1, hidden));
  model.get<1>().setBias(amp_out_bias);
  model.reset();
#endif
  for (int turn = 0; turn < 3; ++turn) {
    measure("C header", [&](float x) {
      float y;
      amp_step(&state, &x, &y);
      return y;
    });
    measure("RealTimeStep", real_time_step);
    measure("Stepper", stepper);
#ifdef RTNEURAL
    measure("RTNeural", [&](float x) { return model.forward(&x); });
#endif
  }
}
#endif
