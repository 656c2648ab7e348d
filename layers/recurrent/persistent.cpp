#include "layers/recurrent/persistent.h"

#include <utility>

#include <fmt/format.h>

#include "framework/device.h"
#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/options.h"

namespace unroll {

namespace {

// Fills in `why` only if it is wanted: a layer asks in each window and needs no text.
template <class... Args>
std::optional<PersistentPlan> none(std::string* why, fmt::format_string<Args...> text, Args&&... args) {
  if (why) *why = fmt::format(text, std::forward<Args>(args)...);
  return {};
}

}  // namespace

std::optional<PersistentPlan> persistent_plan(const PersistentSizes& s, const EngineFacts& gpu,
                                              std::string* why) {
  if (gpu.gpu.empty()) return none(why, "it is for a GPU");
  if (sizeof(real) == sizeof(double) || s.precision == Precision::fp32)
    return none(why, "tensor cores multiply tf32, bf16 and fp16");
  if (gpu.capability < 80) return none(why, "it is for compute capability 8.0 and later");
  if (gpu.code < 80)
    return none(
        why, "this build has code for compute capability {}.{}; one that is set up with -Dgpu_arch={} has it",
        gpu.code / 10, gpu.code % 10, gpu.capability);
  if (s.steps > 0 && s.steps < LstmWindow::least_steps)
    return none(why, "a window of {} steps is shorter than {}", s.steps, LstmWindow::least_steps);
  if (s.batch > PersistentPlan::most_batch)
    return none(why, "batch {} is above {}", s.batch, PersistentPlan::most_batch);
  if (gpu.processors == 0) return none(why, "the number of the GPU's processors is not known");
  const int64_t batch = s.batch > 0 ? s.batch : PersistentPlan::rows_at_once;
  const PersistentPlan plan =
      PersistentPlan::of(s.hidden, s.gates, batch, s.precision == Precision::tf32 ? 4 : 2, gpu.processors);
  if (plan.units > PersistentPlan::most_units)
    return none(why, "{} units are more than {} for each of {} processors", s.hidden,
                PersistentPlan::most_units, gpu.processors);
  if (plan.shared_bytes() > gpu.shared_memory)
    return none(why,
                "weights of {} units in {} take {} KiB of shared memory, and each of {} processors has {}",
                plan.units, name_of(s.precision), (plan.shared_bytes() + 1023) / 1024, gpu.processors,
                gpu.shared_memory / 1024);
  return plan;
}

std::optional<PersistentPlan> persistent_plan(const CellFacts& cell, const RecurrentConfig& config,
                                              const EngineFacts& gpu, const WindowFacts& window,
                                              std::string* why) {
  if (cell.kind != CellKind::lstm) return none(why, "it is an LSTM's");
  if (config.algorithm == RecurrentAlgorithm::standard)
    return none(why, "algorithm = standard was asked for");
  for (const auto& [name, set] : {std::pair{"projection", config.projection > 0},
                                  {"layer_norm", config.layer_norm},
                                  {"mogrifier", config.mogrifier > 0}})
    if (set) return none(why, "with {} a step is more than a product and a pass", name);
  return persistent_plan({.hidden = config.hidden,
                          .gates = config.gates(cell),
                          .batch = window.batch,
                          .steps = window.steps,
                          .precision = gpu.precision},
                         gpu, why);
}

std::optional<PersistentPlan> persistent_plan_here(PersistentSizes sizes) {
  sizes.precision = precision();
  if (!on_gpu() || sizes.precision == Precision::fp32) return {};
  static const EngineFacts here = engine_facts();  // of the process's one GPU
  return persistent_plan(sizes, here);
}

}  // namespace unroll
