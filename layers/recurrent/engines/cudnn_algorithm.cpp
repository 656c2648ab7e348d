#include "layers/recurrent/engines/cudnn_algorithm.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/graph.h"
#include "layers/recurrent/recurrent_layer.h"

namespace unroll {

namespace {

// One window forward and backward. Zeros take as long as anything else.
void run(const RecurrentLayer& layer, ParameterSet& params, int steps, int batch) {
  Tape tape;
  const Var x = tape.watch(Tensor::zeros({steps, batch, layer.config().input}));
  tape.backward(sum(layer(x, layer.zero_state(batch)).y));
  params.spend_gradients();
}

// None: what cannot be recorded is launched piece by piece in training, too.
std::optional<Graph> recorded(const Tensor& step, const ParameterSet& params,
                              const std::function<void()>& window) try {
  return Graph(reinterpret_cast<const uint32_t*>(step.data()), params.step(), window);
} catch (const OutOfMemory&) { throw; } catch (const Error&) {
  return {};
}

// Before version 9 cuDNN's products are cuBLAS's on several streams, and which of its buffers, and so which kernel, one of them
// gets may differ from time to time, unless all have one size ("cuDNN 8 Release Notes", limitations; "cuBLAS Library", results
// reproducibility).
void require_repeatable() {
  const EngineFacts facts = engine_facts();
  const char* const variable = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  const std::string_view value = variable ? variable : "";
  require_input(facts.cudnn >= 90'000 || value == ":16:8" || value == ":4096:2",
                "deterministic: cuDNN {} may have other bits each time unless the environment has "
                "CUBLAS_WORKSPACE_CONFIG=:4096:2 (or :16:8); the engine 'fused' does without",
                facts.cudnn / 1000);
}

}  // namespace

std::vector<MeasuredAlgorithm> measure_algorithms(CellKind cell, const RecurrentConfig& asked, int steps,
                                                  int batch, const std::function<double()>& clock,
                                                  bool as_graph) {
  constexpr int runs = 3;
  const std::function<double()> now = clock ? clock : clock_seconds;
  RecurrentConfig config = asked;
  config.engine = Engine::cudnn;
  std::vector<MeasuredAlgorithm> result;
  for (const CudnnAlgorithm algorithm :
       {CudnnAlgorithm::standard, CudnnAlgorithm::persistent, CudnnAlgorithm::persistent_small,
        CudnnAlgorithm::persistent_dynamic}) {
    MeasuredAlgorithm& measured = result.emplace_back(MeasuredAlgorithm{algorithm});
    config.algorithm = algorithm;
    const auto cannot = [&](const Error& error, bool lasting) {
      if (algorithm == CudnnAlgorithm::standard) throw;  // which takes whatever cuDNN does
      measured.why_not = error.what(), measured.lasting = lasting;
      synchronize();  // throws where the GPU itself has failed
    };
    try {
      choose_engine(facts_of(cell), config, engine_facts(), {.steps = steps, .batch = batch});
      ParameterSet params;
      const RecurrentLayer layer(params / "measured", cell, config);
      run(layer, params, steps, batch);  // what is made at first use is no part of it
      layer(Var(Tensor::zeros({steps, 1, config.input})), layer.zero_state(1));  // as texts are scored
      const Tensor step = Tensor::zeros({1});  // whose bits are step 0's, for masks
      const std::optional<Graph> graph =
          as_graph ? recorded(step, params, [&] { run(layer, params, steps, batch); }) : std::nullopt;
      for (int i = 0; i < runs; ++i) {
        synchronize();
        const double begin = now();
        if (graph)
          graph->play();
        else
          run(layer, params, steps, batch);
        synchronize();
        const double seconds = now() - begin;
        measured.seconds = i == 0 ? seconds : std::min(measured.seconds, seconds);
      }
    } catch (const CudnnRefusal& refusal) {  // of sizes that no table of ours has
      cannot(refusal, true);
    } catch (const InputError& refusal) { cannot(refusal, true); } catch (const Error& failure) {
      cannot(failure, false);  // of memory, or in a way that nobody knows beforehand
    }
  }
  return result;
}

std::optional<CudnnAlgorithm> algorithm_without_measuring(CellKind cell, const RecurrentConfig& config,
                                                          int steps, int batch, bool deterministic) {
  const bool by_cudnn =
      choose_engine(facts_of(cell), config, engine_facts(), {.steps = steps, .batch = batch}).engine ==
      Engine::cudnn;
  if (deterministic && by_cudnn) require_repeatable();
  if (config.algorithm != CudnnAlgorithm::automatic) return config.algorithm;
  if (!by_cudnn) return CudnnAlgorithm::automatic;
  return deterministic ? std::optional(CudnnAlgorithm::standard) : std::nullopt;
}

CudnnAlgorithm fastest(const std::vector<MeasuredAlgorithm>& measured) {
  const MeasuredAlgorithm* best = &measured.front();
  for (const MeasuredAlgorithm& m : measured)
    if (m.why_not.empty() && m.seconds < best->seconds) best = &m;
  return best->algorithm;
}

}  // namespace unroll
