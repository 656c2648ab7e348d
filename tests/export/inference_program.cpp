// A program of one LSTM and a dense layer, of the inference library alone. Between the two lines that it prints, it only steps.
#include <cstdio>
#include <cstdlib>

#include "export/real_time_step.h"
#include "export/step_file.h"

using namespace unroll;

int main(int count, char** words) try {
  if (count < 3) return 1;
  const SafetensorsFile file{std::filesystem::path(words[1])};
  StepBuilder step(weights_in(file));
  const StepVector x = step.recurrent("lstm", CellKind::lstm, {.input = 1, .hidden = 16}, step.input("x", 1));
  step.output("y", step.dense("out.weight", "out.bias", 1, x));
  RealTimeStep amp(step.plan());
  float* const in = amp["x"].data();
  const float* const y = amp["y"].data();
  const int steps = std::atoi(words[2]);
  std::puts("begin"), std::fflush(stdout);
  float sum = 0;
  for (int t = 0; t < steps; ++t) {
    *in = static_cast<float>(t % 10) / 10 - 0.5f;
    amp();
    sum += *y;
  }
  std::puts("end"), std::fflush(stdout);
  std::printf("%.9g\n", static_cast<double>(sum));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
