#include "layers/recurrent/persistent.h"

#include <utility>

#include <fmt/format.h>

#include "framework/device.h"
#include "framework/kernels/recurrent_window.h"
#include "framework/plain.h"
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
  const int64_t most_batch =
      s.layers > 1 || s.layer_norm ? PersistentPlan::rows_at_once : PersistentPlan::most_batch;
  if (s.batch > most_batch)
    return none(why, "batch {} is above {}{}", s.batch, most_batch, s.layer_norm ? ", with layer_norm" : "");
  static const bool plain_norm = is_plain("norm-window"), plain_gru = is_plain("gru-window");
  if (s.layer_norm && plain_norm) return none(why, "UNROLL_PLAIN names norm-window");
  if (s.gru && plain_gru) return none(why, "UNROLL_PLAIN names gru-window");
  if (gpu.processors == 0) return none(why, "the number of the GPU's processors is not known");
  const int64_t batch = s.batch > 0 ? s.batch : PersistentPlan::rows_at_once;
  const int64_t processors = gpu.processors / s.layers, number_bytes = s.precision == Precision::tf32 ? 4 : 2;
  PersistentPlan plan = PersistentPlan::of(s.hidden, s.gates, batch, number_bytes, processors);
  plan.layer_norm = s.layer_norm;
  if (plan.units > PersistentPlan::most_units)
    return none(why, "{} units are more than {} for each of {} processors", s.hidden,
                PersistentPlan::most_units, processors);
  const int64_t bytes = s.layers > 1 ? plan.shared_bytes_of_two() : plan.shared_bytes();
  if (bytes > gpu.shared_memory)
    return none(
        why, "weights of {} units in {} take {} KiB of shared memory, and each of {} processors has {}",
        plan.units, name_of(s.precision), (bytes + 1023) / 1024, processors, gpu.shared_memory / 1024);
  return plan;
}

static std::optional<PersistentPlan> plan_of(int layers, const CellFacts& cell, const RecurrentConfig& config,
                                             const EngineFacts& gpu, const WindowFacts& window,
                                             std::string* why) {
  if (cell.kind != CellKind::lstm && cell.kind != CellKind::gru)
    return none(why, "it is an LSTM's or a GRU's");
  if (config.algorithm == RecurrentAlgorithm::standard)
    return none(why, "algorithm = standard was asked for");
  for (const auto& [name, set] :
       {std::pair{"projection", config.projection > 0}, {"mogrifier", config.mogrifier > 0}})
    if (set) return none(why, "with {} a step is more than a product and a pass", name);
  return persistent_plan({.hidden = config.hidden,
                          .gates = config.gates(cell),
                          .batch = window.batch,
                          .steps = window.steps,
                          .layers = layers,
                          .precision = gpu.precision,
                          .layer_norm = config.layer_norm,
                          .gru = cell.kind == CellKind::gru},
                         gpu, why);
}

std::optional<PersistentPlan> persistent_plan(const CellFacts& cell, const RecurrentConfig& config,
                                              const EngineFacts& gpu, const WindowFacts& window,
                                              std::string* why) {
  return plan_of(1, cell, config, gpu, window, why);
}

std::optional<PersistentPlan> persistent_pair(const CellFacts& cell, const RecurrentConfig& config,
                                              const EngineFacts& gpu, const WindowFacts& window,
                                              std::string* why) {
  static const bool plain = is_plain("two-layers");
  if (plain) return none(why, "UNROLL_PLAIN names two-layers");
  if (cell.kind != CellKind::lstm) return none(why, "two layers at once are an LSTM's");
  if (config.layers != 2) return none(why, "there are {} layers", config.layers);
  if (config.bidirectional)
    return none(why, "a layer that reads backwards needs the whole window of the one below");
  for (const auto& [name, set] :
       {std::pair{"residual", config.residual}, {"last_hidden", config.last_hidden > 0}})
    if (set) return none(why, "{} acts between them", name);
  if (config.layer_norm) return none(why, "layer_norm wants more barriers in a step");
  return plan_of(2, cell, config, gpu, window, why);
}

std::optional<PersistentPlan> persistent_plan_here(PersistentSizes sizes) {
  sizes.precision = precision();
  if (!on_gpu() || sizes.precision == Precision::fp32) return {};
  static const EngineFacts here = engine_facts();  // of the process's one GPU
  return persistent_plan(sizes, here);
}

}  // namespace unroll
