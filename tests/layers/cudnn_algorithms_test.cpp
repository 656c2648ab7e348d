// Which of cuDNN's algorithms a layer is trained with: what measuring them finds, and where nothing is measured.
#include "layers/recurrent/engines/cudnn_algorithm.h"
#include "tests/environment.h"
#include "tests/layers/cudnn_cases.h"

using namespace unroll;

TEST_CASE("of the algorithms that serve the fastest is taken, by the clock that is given") {
  const Fresh fresh;
  // Each is timed three times; what a run takes by this clock:
  std::vector<double> durations;
  size_t reading = 0;
  double time = 100;
  const auto clock = [&] {
    if (reading % 2 == 1) time += durations.at(reading / 2);
    ++reading;
    return time;
  };
  const auto measured = [&](const RecurrentConfig& config, std::vector<double> taken) {
    durations = std::move(taken), reading = 0;
    const auto result = measure_algorithms(CellKind::lstm, config, 4, 3, clock);
    CHECK(reading == 2 * durations.size());
    return result;
  };
  const RecurrentConfig config{.input = 3, .hidden = 5, .layers = 2};
  if constexpr (sizeof(real) == sizeof(float)) {
    const auto all = measured(config, {3, 2, 2.5, 9, 1, 9, 4, 4, 4, 2, 2, 2});
    REQUIRE(all.size() == 4);
    CHECK(all[0].seconds == 2);
    CHECK(all[1].seconds == 1);
    CHECK(all[3].seconds == 2);
    CHECK(fastest(all) == CudnnAlgorithm::persistent);
    cudnn().persistent_units = 4;  // this GPU's: only the library knows
    const auto fewer = measured(config, {3, 2, 2.5, 4, 4, 4, 2, 2, 2});
    CHECK(lacks(fewer[1].why_not, {"NOT_SUPPORTED"}) == "");
    CHECK(fastest(fewer) == CudnnAlgorithm::standard);  // the first of two that take as long
    const auto wide = measured({.input = 3, .hidden = 193}, {3, 2, 2.5, 1, 1, 1});
    CHECK(lacks(wide[2].why_not, {"192 units"}) == "");
    CHECK(fastest(wide) == CudnnAlgorithm::persistent_dynamic);
  } else {
    const auto all = measured(config, {3, 2, 2.5, 1, 1, 1});
    CHECK(lacks(all[1].why_not, {"double"}) == "");
    CHECK(fastest(all) == CudnnAlgorithm::persistent_dynamic);
  }
  RecurrentConfig projected = config;
  projected.projection = 2;
  for (const MeasuredAlgorithm& m : measured(projected, {3, 2, 1}))
    CHECK(m.why_not.empty() == (m.algorithm == CudnnAlgorithm::standard));
  durations.assign(12, 1), reading = 0;
  CHECK(fastest(measure_algorithms(CellKind::gru, {.input = 3, .hidden = 5}, 4, 3, clock)) ==
        CudnnAlgorithm::standard);
  RecurrentConfig impossible = config;
  impossible.peepholes = true;
  CHECK(lacks(input_error_of([&] { measure_algorithms(CellKind::lstm, impossible, 4, 3, clock); }),
              {"peepholes"}) == "");
}

TEST_CASE(
    "windows that a run plays as graphs are timed as such, three times for each algorithm that serves") {
  const Fresh fresh;
  const RecurrentConfig config{.input = 3, .hidden = 5, .layers = 2};
  const auto graphs_of = [&](bool as_graph) {
    const standin::Control before = standin::control();
    const auto measured = measure_algorithms(CellKind::lstm, config, 4, 3, {}, as_graph);
    const auto serving = std::ranges::count(measured, std::string(), &MeasuredAlgorithm::why_not);
    CHECK(serving >= 2);
    CHECK(standin::control().graph_launches - before.graph_launches == (as_graph ? 3 * serving : 0));
    return standin::control().graphs - before.graphs == (as_graph ? serving : 0);
  };
  CHECK(graphs_of(true));
  CHECK(graphs_of(false));
}

TEST_CASE(
    "an algorithm that fails is left out, and is tried again another time; the standard one must serve") {
  const Fresh fresh;
  const RecurrentConfig config{.input = 3, .hidden = 5};
  const auto dynamic_one = [&] {
    const auto all = measure_algorithms(CellKind::lstm, config, 4, 3);
    CHECK(all[0].why_not == "");
    CHECK(fastest(all) == CudnnAlgorithm::standard);
    return all[3];
  };
  cudnn().persistent_failure = CUDNN_STATUS_EXECUTION_FAILED;
  MeasuredAlgorithm dynamic = dynamic_one();
  CHECK(dynamic.why_not == "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_EXECUTION_FAILED");
  CHECK(!dynamic.lasting);
  cudnn().persistent_failure = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  dynamic = dynamic_one();
  CHECK(lacks(dynamic.why_not, {"DEVICE_ALLOCATION_FAILED"}) == "");
  CHECK(!dynamic.lasting);
  cudnn().persistent_failure = CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
  dynamic = dynamic_one();
  CHECK(lacks(dynamic.why_not, {"COMPILATION_FAILED"}) == "");
  CHECK(dynamic.lasting);
  cudnn().failure = CUDNN_STATUS_EXECUTION_FAILED;
  CHECK(lacks(error_of([&] { measure_algorithms(CellKind::lstm, config, 4, 3); }), {"EXECUTION_FAILED"}) ==
        "");
}

TEST_CASE("a GPU that fails while algorithms are measured is no algorithm's fault") {
  const Fresh fresh;
  int reading = 0;
  const auto clock = [&] {
    if (++reading == 7) standin::control().calls_until_failure = 2;  // the standard one is measured
    return static_cast<double>(reading);
  };
  CHECK(lacks(error_of([&] { measure_algorithms(CellKind::gru, {.input = 3, .hidden = 5}, 4, 3, clock); }),
              {"the GPU has failed: cudaStreamSynchronize reports", "nothing more can be computed"}) == "");
  CHECK(reading < 12);
  standin::control().calls_until_failure = -1;
  synchronize();
}

TEST_CASE("what is trained with is to be measured, documented, or what was asked for") {
  RecurrentConfig config{.input = 3, .hidden = 5};
  const auto known = [&](bool deterministic) {
    return algorithm_without_measuring(CellKind::lstm, config, 4, 3, deterministic);
  };
  CHECK(known(false) == std::nullopt);
  CHECK(known(true) == CudnnAlgorithm::standard);
  {
    // Of a cuDNN that promises the same bits under a condition only.
    const Fresh fresh;
    cudnn().version = 8'907;
    for (const char* wrong : {static_cast<const char*>(nullptr), "", ":4096:8"}) {
      const EnvironmentVariable environment("CUBLAS_WORKSPACE_CONFIG", wrong);
      CHECK(lacks(input_error_of([&] { known(true); }),
                  {"deterministic: cuDNN 8 ", "CUBLAS_WORKSPACE_CONFIG=:4096:2"}) == "");
      CHECK(known(false) == std::nullopt);
      config.engine = Engine::fused;
      CHECK(known(true) == CudnnAlgorithm::automatic);
      config.engine = Engine::automatic;
    }
    for (const char* right : {":4096:2", ":16:8"}) {
      const EnvironmentVariable environment("CUBLAS_WORKSPACE_CONFIG", right);
      CHECK(known(true) == CudnnAlgorithm::standard);
    }
  }
  config.algorithm = CudnnAlgorithm::persistent_dynamic;
  CHECK(known(false) == CudnnAlgorithm::persistent_dynamic);
  CHECK(known(true) == CudnnAlgorithm::persistent_dynamic);
  config.algorithm = CudnnAlgorithm::automatic;
  config.peepholes = true;  // which fused computes
  CHECK(known(false) == CudnnAlgorithm::automatic);
  config = {.input = 3, .hidden = 5, .engine = Engine::composed};
  CHECK(known(false) == CudnnAlgorithm::automatic);
  CHECK(algorithm_without_measuring(CellKind::gru, RecurrentConfig{.input = 3, .hidden = 5}, 4, 3, false) ==
        std::nullopt);
  CHECK(algorithm_without_measuring(CellKind::gru, RecurrentConfig{.input = 3, .hidden = 5}, 4, 3, true) ==
        CudnnAlgorithm::standard);
}
