#include "layers/step_estimate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/folded.h"
#include "layers/recurrent/persistent.h"
#include "layers/recurrent/wavefront.h"

namespace unroll {

namespace {

// One layer in one direction. width: of h.
struct LayerSizes {
  double input, hidden, width, gates;
  int rounds, rank;                                            // of the mogrifier
  double inputs() const { return gates * hidden * input; }     // elements of weight_ih
  double recurrent() const { return gates * hidden * width; }  // and of weight_hh
  // Of the mogrifier's matrices: how many, and elements of all.
  int matrices() const { return rounds * (rank ? 2 : 1); }
  double of_rounds() const { return rounds * (rank ? rank * (input + width) : input * width); }
};
std::vector<LayerSizes> layers_of(const StepSizes& s) {
  const RecurrentConfig& c = s.layers;
  std::vector<LayerSizes> result;
  for (int k = 0; k < c.layers * c.directions(); ++k) {
    const bool last = c.last_hidden > 0 && k >= (c.layers - 1) * c.directions();
    const int hidden = last ? c.last_hidden : c.hidden;
    result.push_back({.input = 1.0 * (k < c.directions() ? c.input : c.directions() * c.width()),
                      .hidden = 1.0 * hidden,
                      .width = 1.0 * (last ? hidden : c.width()),
                      .gates = 1.0 * c.gates(s.cell),
                      .rounds = c.mogrifier,
                      .rank = c.mogrifier_rank});
  }
  return result;
}

bool has_16_bits(const StepSizes& s) {
  return s.precision == Precision::bf16 || s.precision == Precision::fp16;
}

OptionCost cost_of_options(const StepSizes& s) {
  OptionCost sum;
  for (const RecurrentOption* option : options_set(s.layers)) {
    const OptionCost cost = option->cost(option_sizes(s.cell, s.layers, s.batch, s.steps));
    sum.held += cost.held;
    sum.launches.fused += cost.launches.fused, sum.launches.composed += cost.launches.composed;
    sum.launches.window += cost.launches.window, sum.launches.window_16 += cost.launches.window_16;
  }
  return sum;
}

// A layer by itself: what each step launches, forward and back, and a window once.
struct CellLaunches {
  int fused, composed, window, window_16;  // window_16: besides, in 16 bits
  int cudnn, state,
      call_16;  // by cuDNN: of a layer, of a call for one layer of several, and of each call in 16 bits
};
CellLaunches launches_of(const CellFacts& cell) {
  switch (cell.kind) {
    case CellKind::gru:
      return {4, 59, 10, 9, 4, 2, 6};
    case CellKind::rnn:
      return {4, 15, 8, 7, 3, 2, 6};
    default:
      return {4, 46, 10, 7, 3, 4, 8};
  }
}

// The embedding, the loss and the optimizer; and dropout, forward and back.
constexpr int around = 21, around_16 = 6, of_dropout = 2;

}  // namespace

StepLaunches launches_of_step(Engine engine, const StepSizes& s, bool persistent, int chunks) {
  const RecurrentConfig& c = s.layers;
  const CellLaunches cell = launches_of(s.cell);
  OptionCost::Launches options = cost_of_options(s).launches;
  const bool rounds = has_16_bits(s), between = acts_between_layers(c);
  const bool folded = engine == Engine::fused && folds_projection(c, {.steps = s.steps});
  // No product more in a step, but in a window: of the weights, of h and of what becomes of it.
  if (folded) options.fused -= 3, options.window += 8, options.window_16 += 12;
  const int64_t stacked = c.layers * c.directions(), step_layers = int64_t{s.steps} * stacked,
                gaps = c.layers - 1;
  const int of_mogrifier = c.mogrifier * (c.mogrifier_rank ? 2 : 1);  // matrices of a layer
  int64_t once = around + (rounds && engine != Engine::composed ? around_16 : 0);
  once += of_dropout * ((s.input_dropout > 0) + (s.output_dropout > 0) + (c.dropout > 0 ? gaps : 0));
  once += (c.residual ? 3 : 0) * gaps;
  if (engine == Engine::cudnn) {
    // One call for all layers, or one for each, whose states are cut out and put together.
    const int64_t calls = between ? c.layers : 1;
    once += (rounds ? 2 : 1) * cell.cudnn * stacked + (between ? cell.state * calls : 0);
    if (rounds) once += cell.call_16 * calls;
    return {.ours = once, .in_cudnn = 4 * step_layers};
  }
  if (c.last_hidden > 0) once += 8;
  if (engine == Engine::composed) {
    if (c.bidirectional) once += 5 * c.layers;
    const int rounded = (c.projection ? 18 : 12) + 6 * of_mogrifier;
    return {.ours = once + step_layers * (cell.composed + options.composed + (rounds ? rounded : 0))};
  }
  const int of_window = cell.window + options.window + (rounds ? cell.window_16 + options.window_16 : 0);
  once += of_window * stacked + (c.bidirectional ? 8 * c.layers : 0);
  if (persistent)  // a kernel each way, in place of those that round the weights
    return {.ours = once + ((rounds ? 0 : 2) + (folded ? 1 : 0)) * stacked};  // folded: h0's product
  if (chunks > 1) {
    // Above the first layer each chunk has a product of x with its bias, or norm, and a product of its gradient; and dropout between
    // layers a pass over a mask each way.
    const int rounded = !rounds ? 0 : s.cell.kind == CellKind::gru ? 2 : 1;  // x, and a GRU's gradients
    const int of_chunk = c.mogrifier ? 0 : 3 + rounded + (c.layer_norm ? 1 + (rounds ? 1 : 0) : 0);
    once += gaps * (of_chunk * (chunks - 1) + (c.dropout > 0 ? 2 * chunks : 0));
    if (folded) once += stacked * (chunks - 1) * (rounds ? 4 : 2);
  }
  // What enters a product is rounded by the kernel that makes it, but where a mogrifier scales it on its way.
  const int rounded = c.mogrifier ? 2 + 2 * of_mogrifier + (s.cell.kind == CellKind::gru ? 1 : 0) : 0;
  // h is a product where it is projected: what options do to it, and rounding it, is a pass then.
  const bool passes =
      c.projection && !folded && (c.recurrent_dropout > 0 || c.zoneout_h > 0 || (rounds && !c.mogrifier));
  return {.ours =
              once + step_layers * (cell.fused + options.fused + (passes ? 1 : 0) + (rounds ? rounded : 0))};
}

StepEstimate estimate_step(Engine engine, const StepSizes& s, const GpuRates& gpu,
                           const StepAssumptions& assumed) {
  require_input(gpu.of(s.precision) > 0, "{} has no products in {}", gpu.name, name_of(s.precision));
  const double rate = assumed.share * gpu.of(s.precision), memory = assumed.share * gpu.memory;
  const double rows = 1.0 * s.steps * s.batch, out = s.layers.output();
  const bool rounds = has_16_bits(s);
  const std::vector<LayerSizes> layers = layers_of(s);
  const EngineFacts facts{.gpu = gpu.name,
                          .capability = gpu.capability,
                          .precision = s.precision,
                          .processors = gpu.processors,
                          .code = gpu.capability,
                          .shared_memory = gpu.shared_memory};
  std::optional<PersistentPlan> plan;
  if (engine == Engine::fused)
    plan = persistent_plan(s.cell, s.layers, facts, {.steps = s.steps, .batch = s.batch});
  std::optional<Wavefront> wave;
  if (engine == Engine::fused)
    wave = wavefront(s.cell, s.layers, facts, {.steps = s.steps, .batch = s.batch});
  const int chunks = wave ? wave->chunks : 1;
  StepEstimate result{.launches = launches_of_step(engine, s, plan.has_value(), chunks)};
  result.persistent = plan.has_value(), result.chunks = chunks;
  result.host = assumed.launch * static_cast<double>(result.launches.ours + result.launches.in_cudnn);

  // Forward, the gradient of what enters, and that of the weights; of the recurrent weights the last alone.
  double flops = 6 * rows * out * s.vocab, weights = out * s.vocab;
  const bool folded = engine == Engine::fused && folds_projection(s.layers, {.steps = s.steps});
  for (const LayerSizes& l : layers) {
    const double of_inputs = l.rounds ? 1 : 3;  // the others of a mogrified x are made in each step
    flops += 2 * rows * (of_inputs * l.inputs() + l.recurrent() + l.of_rounds());
    if (l.width < l.hidden) flops += 2 * rows * l.hidden * l.width;
    // Folded weights, forward and back; h of all steps, and the gradients of it and of what it is a product of.
    if (folded) flops += 4 * l.recurrent() * l.hidden + 2 * rows * (2 * l.hidden * l.width + l.recurrent());
    weights += l.inputs() + l.recurrent() + l.of_rounds();
  }
  result.products = flops / rate;

  // A product for each step of a layer, each way: of few rows, so that a tile of the GPU's is hardly filled.
  constexpr double tile = 32;
  int64_t recurrent_products = 0;
  for (const LayerSizes& l : layers) {
    struct Product {
      double reading, computing, seconds;
    };
    const auto product_of = [&](double elements, double depth) {  // of the weights; of a sum
      const double bytes = elements * (rounds ? 2 : 4);
      const double reading = bytes / (memory * (2 * bytes <= gpu.cache ? assumed.cache : 1));
      const double computing = 2 * std::max<double>(s.batch, tile) * elements / rate;
      const double element = s.precision == Precision::fp32 ? assumed.element_fp32 : assumed.element;
      return Product{reading, computing, std::max({assumed.kernel + element * depth, reading, computing})};
    };
    if (plan) {
      // In each step a block reads all that is handed on and multiplies it with its lines. It reads its weights once a window.
      for (const PersistentProduct& p : {plan->forward, plan->backward}) {
        const double pieces = static_cast<double>(p.chunks() * plan->rows() / 8);
        const double step =
            assumed.step + pieces * (assumed.reading + assumed.product * static_cast<double>(p.groups()));
        result.recurrent += s.steps * step + static_cast<double>(4 * p.lines * p.depth) / assumed.weights;
        ++recurrent_products;
      }
      continue;
    }
    const auto [reading, computing, product] =
        folded ? product_of(l.gates * l.hidden * l.hidden, l.hidden) : product_of(l.recurrent(), l.width);
    const bool one_call = engine == Engine::cudnn && !acts_between_layers(s.layers);
    // Layers run beside each other as far as the weights' reading and arithmetic allow: in one call of cuDNN's a step behind the one
    // below, by chunks a chunk behind.
    const double count = one_call ? s.layers.layers : 1;
    const double beside = wave ? wave->share(s.layers.layers) : (s.steps + count - 1) / (s.steps * count);
    const double of_product = std::max(beside * product, std::max(reading, computing));
    if (l.rounds) {
      const double depth = l.rank ? (l.input + l.rank) / 2.0 : l.input;
      const double of_round = l.matrices() * product_of(l.of_rounds() / l.matrices(), depth).seconds;
      result.recurrent += beside * 2 * s.steps * (product_of(l.inputs(), l.input).seconds + of_round);
      recurrent_products += 2 * s.steps * (1 + l.matrices());
    }
    result.recurrent += 2 * s.steps * of_product;
    if (l.width < l.hidden && !folded) {
      result.recurrent += beside * 2 * s.steps * product_of(l.hidden * l.width, l.hidden).seconds;
      recurrent_products += engine == Engine::cudnn ? 0 : 2 * s.steps;
    }
    if (engine == Engine::cudnn) {
      result.kernels += 2 * s.steps * beside * assumed.kernel;
    } else {
      recurrent_products += 2 * s.steps;
      result.kernels -= 2 * s.steps * (1 - beside) * assumed.kernel;
    }
  }
  result.kernels += assumed.kernel * static_cast<double>(result.launches.ours - recurrent_products);
  // Layer norm in one kernel a step, each way: h's product, gates, gains and c go through the block that has the row, 5 and 10
  // times the gates, 8 and 12 times c.
  const double share = wave ? wave->share(s.layers.layers) : 1;
  if (engine == Engine::fused && s.layers.layer_norm)
    for (const LayerSizes& l : layers)
      result.kernels +=
          share * s.steps * (2 * assumed.norm + 4 * (15 * l.gates + 20) * l.hidden / assumed.row);

  // The norm reads gradients, the update reads and writes. The loss writes and reads logits, its gradients wait for a factor.
  const double update = 1.0 * static_cast<double>(s.parameters) * (4 + 2 * s.moments);
  const double loss = 4 * rows * s.vocab + 3 * out * s.vocab + 3 * rows * s.layers.input;
  // In 16 bits weights and what enters products are read as float and written, forward and back; with the engine `fused` but for what
  // its kernels write in 16 bits themselves.
  double rounding = rounds ? 1.5 * 2 * weights : 0;
  for (const LayerSizes& l : layers)
    rounding += !rounds ? 0
                : engine == Engine::fused
                    ? rows * (0.5 * l.gates * l.hidden + 1.5 * 2 * l.input + 2 * l.width)
                    : 1.5 * 2 * rows * l.gates * l.hidden;
  // What options keep is written, and read on the way back.
  const double kept = 2 * cost_of_options(s).held;
  result.passes = 4 * (update + loss + rounding + kept) / (assumed.passes * gpu.memory);
  return result;
}

double StepEstimate::seconds(bool graph) const {
  const double device = products + recurrent + kernels + passes;
  return graph ? device : std::max(device, host);
}

std::string StepEstimate::limit(bool graph) const {
  if (!graph && host > seconds(true)) return "launches by the host";
  const std::pair<double, const char*> parts[] = {{products, "arithmetic of products"},
                                                  {recurrent, "recurrent products, step by step"},
                                                  {kernels, "short kernels, one after the other"},
                                                  {passes, "passes over memory"}};
  return std::ranges::max_element(parts)->second;
}

}  // namespace unroll
