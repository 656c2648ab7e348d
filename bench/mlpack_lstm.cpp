// mlpack's LSTM, 35 steps, batch 20, float: gradients and an update, as parts `lstm` and `lstm_every` of bench_parts.
// Prints one line of JSON with the milliseconds of each. run_parts.py has both take turns.
//
//   g++ -std=c++17 -O3 -march=native -DNDEBUG -DARMA_DONT_USE_WRAPPER -DARMA_NO_DEBUG bench/mlpack_lstm.cpp -lopenblas -o mlpack_lstm
//   OPENBLAS_NUM_THREADS=1 ./mlpack_lstm lstm --width 200 --seconds 2
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <mlpack.hpp>

using namespace mlpack;

int main(int argc, char** argv) {
  size_t width = 200;
  double seconds = 2;
  const std::string part = argc < 2 ? "" : argv[1];
  if (part != "lstm" && part != "lstm_every") {
    std::fprintf(stderr, "mlpack_lstm: the first argument must be lstm or lstm_every, not '%s'\n",
                 part.c_str());
    return 2;
  }
  const bool last = part == "lstm";
  for (int i = 2; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--width")) width = std::stoul(argv[i + 1]);
    if (!std::strcmp(argv[i], "--seconds")) seconds = std::stod(argv[i + 1]);
  }
  constexpr size_t steps = 35, batch = 20;
  RNN<MeanSquaredErrorType<arma::fmat>, RandomInitialization, arma::fmat> rnn(steps, last);
  rnn.Add<LSTM>(width);
  arma::fcube x(width, batch, steps, arma::fill::randu),
      target(width, batch, last ? 1 : steps, arma::fill::randu);
  rnn.ResetData(x, target);
  arma::fmat gradient;
  std::string times;
  double spent = 0;
  for (int i = 0; i < 7 || spent < seconds; ++i) {  // the first two take memory
    const auto start = std::chrono::steady_clock::now();
    rnn.EvaluateWithGradient(rnn.Parameters(), 0, gradient, batch);
    rnn.Parameters() -= 0.01f * gradient;
    const double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (i >= 2) times += (times.empty() ? "" : ", ") + std::to_string(ms);
    spent += ms / 1000;
  }
  std::printf("{\"width\": %zu, \"weights\": %zu, \"version\": \"%d.%d.%d\", \"ms\": [%s]}\n", width,
              static_cast<size_t>(rnn.Parameters().n_elem), MLPACK_VERSION_MAJOR, MLPACK_VERSION_MINOR,
              MLPACK_VERSION_PATCH, times.c_str());
}
