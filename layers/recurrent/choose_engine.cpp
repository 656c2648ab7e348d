#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/ranges.h>

#include "framework/kernels/recurrent_window.h"
#include "layers/recurrent/engine.h"
#include "layers/recurrent/options.h"
#include "layers/recurrent/persistent.h"
#include "layers/recurrent/wavefront.h"

namespace unroll {

namespace {

constexpr std::array<std::string_view, 4> engine_names = {"auto", "cudnn", "fused", "composed"};

using Fits = EngineReason::Fits;

// A layer as cuDNN sees it.
struct LayerFacts {
  using Options = std::vector<const RecurrentOption*>;
  LayerFacts(const CellFacts& cell, const RecurrentConfig& config) : cell(cell), config(config) {
    for (const RecurrentOption& option : recurrent_options) {
      if (!is_set(option, config)) continue;
      if (option.cudnn == RecurrentOption::Cudnn::no) unknown.push_back(&option);
      if (option.cudnn == RecurrentOption::Cudnn::between_layers && acts_between_layers(config))
        between_layers.push_back(&option);
    }
  }

  const CellFacts& cell;
  const RecurrentConfig& config;
  Options unknown;         // to cuDNN
  Options between_layers;  // options that act there, so that a stack of layers is no longer one call
};

std::string capability_text(int c) { return fmt::format("{}.{}", c / 10, c % 10); }
std::string cuda_text(int v) { return fmt::format("CUDA {}.{}", v / 1000, v % 1000 / 10); }
std::string cudnn_text(int v) {  // numbered otherwise since 9
  return v >= 90'000 ? fmt::format("{}.{}.{}", v / 10'000, v / 100 % 100, v % 100)
                     : fmt::format("{}.{}.{}", v / 1000, v / 100 % 10, v % 100);
}

using Table = std::vector<EngineReason>;

// Fits, or does not and says why in the table too.
void check(Table& table, bool fits, const std::string& criterion, const std::string& value,
           const std::string& because) {
  fits ? table.push_back({Fits::yes, criterion, value})
       : table.push_back({Fits::no, criterion, value, because, because});
}

void judge_machine(Table& table, const EngineFacts& f) {
  if (f.gpu.empty())
    return table.push_back({Fits::no, "device", "cpu",
                            "cudnn needs an NVIDIA GPU; fused is the fastest engine on a CPU",
                            fmt::format("cudnn needs an NVIDIA GPU, and {}", f.no_gpu)});
  table.push_back({Fits::yes, "device", f.gpu});
  const int least = f.toolkit >= 13'000 ? 75 : 50;
  check(table, f.capability >= least, "compute capability", capability_text(f.capability),
        fmt::format("the libraries for {} begin at compute capability {}", cuda_text(f.toolkit),
                    capability_text(least)));
  check(table, f.driver / 1000 >= f.toolkit / 1000, "driver", cuda_text(f.driver),
        fmt::format("the driver runs {} at most, and this build is for {}", cuda_text(f.driver),
                    cuda_text(f.toolkit)));
  if (!f.cudnn) return table.push_back({Fits::no, "cudnn", "none", f.no_cudnn, f.no_cudnn});
  check(table, f.cudnn >= 8'000, "cudnn", cudnn_text(f.cudnn),
        fmt::format("cuDNN {} has another interface: 8.0 is the oldest that serves", cudnn_text(f.cudnn)));
}

bool has_16_bits(Precision p) { return p == Precision::bf16 || p == Precision::fp16; }

void judge_numbers(Table& table, const EngineFacts& f) {
  if constexpr (sizeof(real) == sizeof(double)) return table.push_back({Fits::yes, "numbers", "double"});
  const std::string name = name_of(f.precision);
  if (f.precision == Precision::fp32) return table.push_back({Fits::yes, "numbers", name});
  const int least = f.precision == Precision::fp16 ? 70 : 80;  // tensor cores began with half precision
  if (!f.gpu.empty() && f.capability < least) {
    const std::string because =
        fmt::format("{} needs a GPU of compute capability {}", name, capability_text(least));
    return table.push_back({Fits::no, "numbers", name, because, because});
  }
  table.push_back({Fits::yes, "numbers", name,
                   has_16_bits(f.precision) ? "a copy of the weights in 16 bits, once a step" : ""});
}

void judge_layer(Table& table, const LayerFacts& layer, const EngineFacts& f, const WindowFacts& window) {
  if (layer.cell.is_ours())
    table.push_back(
        {Fits::yes, "cell", layer.cell.name,
         layer.cell.kind == CellKind::gru ? "a copy of the weights with both biases, once a step" : ""});
  else
    table.push_back({Fits::no, "cell", layer.cell.name, "composed computes it",
                     fmt::format("cudnn does not compute the cell {}", layer.cell.name)});
  for (const RecurrentOption* option : layer.unknown) {
    const std::string value = value_of(*option, layer.config);
    table.push_back({Fits::no, option->name, value, "fused and composed compute it",
                     fmt::format("cudnn does not compute {} = {}", option->name, value)});
  }
  if (layer.config.projection)
    table.push_back({Fits::yes, "projection", fmt::to_string(layer.config.projection)});
  for (const RecurrentOption* option : layer.between_layers)
    table.push_back({Fits::at_a_cost, option->name, value_of(*option, layer.config),
                     "a call for each layer instead of one for all"});
  using Lengths = WindowFacts::Lengths;
  if (window.lengths == Lengths::padded_before)
    table.push_back({Fits::no, "lengths", "padded before", "pad after the steps, or take fused",
                     "cuDNN knows no rows that are padded before their steps"});
  if (window.lengths == Lengths::padded_after)
    check(table, f.gpu.empty() || f.cudnn < 8'100 || f.cudnn >= 8'900, "lengths", "padded after",
          fmt::format("cuDNN {} computes rows of different lengths wrongly; 8.9 is right",
                      cudnn_text(f.cudnn)));
  if (layer.config.resets || window.resets)
    table.push_back({Fits::no, "resets", "inside a window", "fused and composed compute them",
                     layer.config.resets
                         ? "cuDNN has no reset inside a window"
                         : "cuDNN has no reset inside a window, and resets = true in the layer's "
                           "configuration would have chosen another engine"});
  if (window.steps)
    check(table, window.steps <= most_cudnn_steps, "steps", fmt::to_string(window.steps),
          fmt::format("steps {} are more than cuDNN's {}", window.steps, most_cudnn_steps));
}

// Tensor cores take groups of 16 bytes. Since cuBLAS 11 other sizes work too, but less well (docs/design/gpu.md).
void advise_on_sizes(Table& table, const LayerFacts& layer, const EngineFacts& f, const WindowFacts& window) {
  if (f.gpu.empty() || f.precision == Precision::fp32) return;  // which have no use for them
  const int group = f.precision == Precision::tf32 ? 4 : 8;
  const std::pair<const char*, int> sizes[] = {{"input size", layer.config.input},
                                               {"hidden size", layer.config.hidden},
                                               {"projection size", layer.config.projection},
                                               {"batch size", window.batch}};
  for (const auto& [name, size] : sizes)
    if (size % group)
      table.push_back({Fits::at_a_cost, name, fmt::to_string(size),
                       fmt::format("no multiple of {}: tensor cores serve less well; {} is the next", group,
                                   (size / group + 1) * group)});
}

// Judges how the engine `fused` computes the recurrence of an LSTM or a GRU on a GPU. Returns the text for the engine's line.
std::string judge_persistent(Table& table, const LayerFacts& layer, const EngineFacts& f,
                             const WindowFacts& window) {
  const bool may_be = layer.cell.kind == CellKind::lstm || layer.cell.kind == CellKind::gru;
  if (f.gpu.empty() || f.processors == 0 || !may_be) return "";
  std::string why;
  const auto plan = persistent_plan(layer.cell, layer.config, f, window, &why);
  if (plan)
    table.push_back({Fits::yes, "persistent kernel", "yes",
                     fmt::format("{} blocks of {} units, {} KiB of shared memory each", plan->blocks,
                                 plan->units, (plan->shared_bytes() + 1023) / 1024)});
  else
    table.push_back({Fits::at_a_cost, "persistent kernel", "no", why});
  if (f.precision == Precision::fp32 || f.capability < 80) return "";  // no tensor cores: nothing to expect
  if (!plan) return "; persistent: no, " + why;
  if (layer.config.layers == 1) return "; persistent";
  const auto both = persistent_pair(layer.cell, layer.config, f, window, &why);
  if (both)
    table.push_back({Fits::yes, "both layers at once", "yes",
                     fmt::format("{} blocks of {} units for each", both->blocks, both->units)});
  else
    table.push_back({Fits::at_a_cost, "both layers at once", "no", why});
  return both ? "; persistent, both layers at once" : "; persistent";
}

// Judges whether `fused`, or cuDNN's calls for each layer, compute layers side by side. Returns whether they do.
bool judge_wavefront(Table& table, Engine engine, const LayerFacts& layer, const EngineFacts& f,
                     const WindowFacts& window) {
  if (f.gpu.empty() || layer.config.layers == 1) return false;
  std::string why;
  const auto plan = wavefront(engine, layer.cell, layer.config, f, window, &why);
  if (!plan) {
    table.push_back({Fits::at_a_cost, "layers side by side", "no", why});
    return false;
  }
  const std::string chunks =
      window.steps ? fmt::format("{} chunks of {} steps", plan->chunks, window.steps) : "chunks";
  table.push_back({Fits::yes, "layers side by side", "yes",
                   fmt::format("on {} streams, by {}", Wavefront::streams, chunks)});
  return true;
}

// Returns why `auto` takes the engine: cuDNN, or `fused` although cuDNN would serve.
struct Preferred {
  Engine engine;
  std::string because;  // "": it is what serves
};
// As an earlier part of the run, or by the times of both, if there are any.
std::optional<Preferred> preferred_here(const EngineFacts& f) {
  if (f.begun_with) return Preferred{*f.begun_with, "the run began with it"};
  if (!f.times) return {};
  const auto [cudnn, fused] = *f.times;
  const bool is_fused = fused < cudnn;
  return Preferred{is_fused ? Engine::fused : Engine::cudnn,
                   fmt::format("a window took {:.3g} ms here, and {:.3g} in {}", is_fused ? fused : cudnn,
                               is_fused ? cudnn : fused, is_fused ? "cudnn" : "fused")};
}

// Returns why `fused` is faster than cuDNN although cuDNN would serve; "" if it is not, or that is not known. Measured
// on an H100 at a batch of 20 (bench/results/gpu.md). Ignores windows: a layer chooses before it has seen one.
std::string why_fused_is_faster(const LayerFacts& layer, const EngineFacts& f) {
  const RecurrentConfig& c = layer.config;
  if (!layer.cell.fused) return "";
  const bool a_call_each = !layer.between_layers.empty();
  if (layer.cell.kind == CellKind::lstm && persistent_plan(layer.cell, c, f, {})) {
    // In one call cuDNN's layers overlap; those of the persistent kernel do not.
    constexpr int enough = 400;
    const bool overlaps = c.layers > 1 && !a_call_each && has_16_bits(f.precision) && c.hidden < enough;
    return overlaps ? ""
                    : fmt::format("its persistent kernel, for up to {} rows, is faster than cuDNN",
                                  PersistentPlan::most_batch);
  }
  // Measured without residual connections, and before cuDNN's calls for each layer went side by side.
  if (a_call_each && !c.residual && wavefront(Engine::fused, layer.cell, c, f, {}))
    return "its layers go side by side, and cuDNN was slower with a call for each";
  return "";
}

}  // namespace

bool has_figures(const EngineFacts& facts, const CellFacts& cell, const RecurrentConfig& config) {
  const bool is_known =
      facts.gpu.find("H100") != std::string::npos || facts.gpu.find("H200") != std::string::npos;
  return is_known && !(cell.kind == CellKind::gru && persistent_plan(cell, config, facts, {}));
}

std::string_view name_of(Engine engine) { return engine_names[static_cast<size_t>(engine)]; }

Engine engine_named(std::string_view name) {
  for (size_t i = 0; i < engine_names.size(); ++i)
    if (engine_names[i] == name) return static_cast<Engine>(i);
  throw InputError(fmt::format("engine '{}' is none of auto, cudnn, fused, composed", name));
}

// Before version 9 cuDNN runs cuBLAS's products on several streams. Which buffer a product gets, and with it which
// kernel, may differ from run to run unless all buffers have one size ("cuDNN 8 Release Notes", limitations; "cuBLAS
// Library", results reproducibility).
void require_repeatable(Engine engine, const EngineFacts& facts) {
  const char* const variable = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  const std::string_view value = variable ? variable : "";
  require_input(engine != Engine::cudnn || facts.cudnn >= 90'000 || value == ":16:8" || value == ":4096:2",
                "deterministic: cuDNN {} may have other bits each time unless the environment has "
                "CUBLAS_WORKSPACE_CONFIG=:4096:2 (or :16:8); the engine 'fused' does without",
                facts.cudnn / 1000);
}

std::string_view name_of(RecurrentAlgorithm algorithm) {
  return algorithm == RecurrentAlgorithm::automatic ? "auto" : "standard";
}

std::string_view name_of(EngineReason::Fits fits) {
  return fits == Fits::yes ? "yes" : fits == Fits::no ? "no" : "at a cost";
}

EngineChoice choose_engine(const CellFacts& cell, const RecurrentConfig& config, const EngineFacts& facts,
                           const WindowFacts& window) {
  const Engine asked = config.engine;
  require_input(asked != Engine::fused || cell.fused,
                "engine 'fused' cannot serve: the cell {} has none; 'composed' can", cell.name);
  const LayerFacts layer(cell, config);
  Table table;
  judge_machine(table, facts);
  judge_numbers(table, facts);
  judge_layer(table, layer, facts, window);
  advise_on_sizes(table, layer, facts, window);
  std::vector<std::string> in_the_way;
  for (const EngineReason& reason : table)
    if (reason.fits == Fits::no) in_the_way.push_back(reason.because);
  const bool serves = in_the_way.empty();
  if (asked == Engine::cudnn && !serves)
    throw InputError(fmt::format("engine 'cudnn' cannot serve: {}; {}", fmt::join(in_the_way, "; "),
                                 cell.fused ? "'fused' and 'composed' can" : "'composed' can"));

  Preferred preferred{asked, ""};
  if (asked == Engine::automatic && serves) {
    const auto here = cell.fused ? preferred_here(facts) : std::nullopt;
    const std::string faster = here ? "" : why_fused_is_faster(layer, facts);
    preferred = here ? *here : Preferred{faster.empty() ? Engine::cudnn : Engine::fused, faster};
  } else if (asked == Engine::automatic) {
    preferred.engine = cell.fused ? Engine::fused : Engine::composed;
  }
  const Engine engine = preferred.engine;
  std::string text = fmt::format("{}: {}", cell.name, name_of(engine));
  if (engine == Engine::cudnn) {
    text += fmt::format(", {} x {}", config.layers, config.hidden);
    if (!layer.between_layers.empty() && judge_wavefront(table, engine, layer, facts, window))
      text += ", side by side by chunks of steps";
  }
  if (asked != Engine::automatic)
    text += ", because it was asked for";
  else if (!preferred.because.empty())
    text += ", because " + preferred.because;
  else if (!serves && !cell.fused)
    text += ", the one engine of this cell";
  else if (!serves)
    text += ", because " + in_the_way.front();
  if (engine == Engine::fused) {
    text += judge_persistent(table, layer, facts, window);
    judge_wavefront(table, engine, layer, facts, window);
  }
  return {engine, text, std::move(table)};
}

}  // namespace unroll
