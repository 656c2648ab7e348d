// The library's own steps of bench/real_time.cpp: an LSTM of 16 units and a dense layer.
#include "export/c_header.h"
#include "export/real_time_step.h"
#include "export/step_of.h"
#include "framework/threads.h"
#include "layers/recurrent/lstm.h"
#include "layers/stepper.h"

using namespace unroll;

namespace {

struct Amp {
  ParameterSet params{1};
  Lstm lstm{params / "lstm", {.input = 1, .hidden = 16}};
  Dense out{params / "out", {.in = 16, .out = 1}};
  StepPlan plan() const { return step_of(params, 1, lstm, out); }
};

}  // namespace

float real_time_step(float x) {
  static RealTimeStep step(Amp().plan());
  static float* const in = step["x"].data();
  static const float* const out = step["y"].data();
  *in = x;
  step();
  return *out;
}

float stepper(float x) {
  static const Amp amp;
  static Stepper step{amp.lstm};
  static const Tensor in({1, 1}), out({1, 1});
  Tensor(in).fill(x);
  amp.out.compute(step(in), out);
  return out.item();
}

void write_amp(const char* path) {
  set_threads(1);
  write_c_header(path, Amp().plan(), {.name = "amp"});
}
