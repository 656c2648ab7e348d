// ptb explain: what a recipe makes, before anything is trained.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/commands/layer_costs.h"
#include "examples/ptb/model/model.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/text/text.h"
#include "framework/loss.h"
#include "framework/one_line.h"
#include "framework/threads.h"
#include "layers/recurrent/wavefront.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/explanations.h"
#include "training/program/cli/schedule_chart.h"
#include "training/program/run/machine.h"
#include "training/program/run/processes.h"
#include "training/report/progress.h"

namespace ptb {

namespace {

struct ExplainedLine {
  std::string what, how;
  double amount;
};
// The lines, and their sum.
void print_table(const std::vector<ExplainedLine>& lines, const std::string& unit,
                 const std::string& total_name) {
  double total = 0;
  for (const ExplainedLine& line : lines) {
    show("  {:<28}{:>9}{}   {}\n", line.what, format_number(line.amount), unit, line.how);
    total += line.amount;
  }
  show("  {:<28}{:>9}{}\n\n", total_name, format_number(total), unit);
}

// Operations of a transformer's products for one token.
std::vector<ExplainedLine> transformer_products(const TransformerConfig& c) {
  const double layers = c.layers, dim = c.dim, units = c.units();
  const char* const at_once = "one product over all steps";
  return {{"queries, keys, values", at_once, 6 * layers * dim * dim},
          {"attention", fmt::format("each step with {} and itself, by row and head", c.memory),
           attention_operations(c)},
          {"what attention gives", at_once, 2 * layers * dim * dim},
          {"feed-forward", "two products over all steps", 4 * layers * dim * units}};
}

// Numbers that one token keeps for the gradient, in windows of `steps` steps.
double transformer_values(const TransformerConfig& c, int steps) {
  // Norms, queries, keys and values twice, the attention's output, both sums; the units before and after gelu; the
  // dropout; keys and values together with the memory's.
  const double dim = c.dim, units = c.units(), dropped = c.dropout > 0 ? 2 * dim + units : 0;
  return c.layers * (13 * dim + 2 * units + dropped + 2 * dim * (c.memory + steps) / steps);
}

// Bytes of the memory that crosses windows.
double transformer_memory(const TransformerConfig& c, int batch) {
  return 2.0 * c.layers * c.memory * batch * c.dim * sizeof(real);
}

void print_parameters(const LanguageModel& model) {
  size_t width = 28;
  for (const auto& p : model.params.all()) width = std::max(width, p->name.size());
  show("Parameters\n");
  for (const auto& p : model.params.all())
    show("  {:<{}}{:>14}{:>12}\n", p->name, width, p->shape.text(), p->size());
  show("  {:<{}}{:>26}   ({}B in float32)\n\n", "together", width, model.params.count(),
       format_number(4.0 * static_cast<double>(model.params.count())));
}

// Sizes of the recurrent layers: elements of the weights and number of units, summed over all layers. `packed`: the
// bytes of the largest layer's packed weights.
struct LayerSizes {
  double inputs = 0, recurrent = 0, projection = 0, mogrifier = 0, units = 0, packed = 0;
  explicit LayerSizes(const LanguageModel& model) {
    if (!model.recurrent) return;
    const RecurrentConfig& config = model.recurrent->config();
    const int gates = config.gates(model.recurrent->cell());
    std::map<std::string, double> packed_of;  // by the end of a layer's names
    for (const auto& p : model.params.all()) {
      const auto is = [&](const char* kind) { return p->name.find(kind) != std::string::npos; };
      const auto size = static_cast<double>(p->size());
      if (is(".weight_ih_l")) inputs += size, units += p->shape[0] / gates;
      if (is(".weight_hh_l")) recurrent += size;
      if (is(".weight_hr_l")) projection += size;
      if (is(".mogrifier_")) mogrifier += size;
      if (is(".weight_hh_l") || is(".mogrifier_") || (config.mogrifier && is(".weight_ih_l")))
        packed_of[p->name.substr(p->name.rfind("_l"))] +=
            static_cast<double>(packed_bytes(p->shape[1], p->shape[0]));
    }
    for (const auto& [layer, bytes] : packed_of) packed = std::max(packed, bytes);
  }
  double in_steps() const { return recurrent + projection + mogrifier + (mogrifier > 0 ? inputs : 0); }
};

// Products only: the rest of the arithmetic is small beside them and bound by memory.
void print_work(const Recipe& r, const LanguageModel& model, double vocab) {
  const LayerSizes layers(model);
  show("Products, FLOP per token (forward; training does three times as many)\n");
  const char *at_once = "one product over all steps", *in_steps = "a product for each step";
  std::vector<ExplainedLine> lines;
  if (model.recurrent)
    lines = {{"inputs of the layers", layers.mogrifier > 0 ? in_steps : at_once, 2 * layers.inputs},
             {"recurrent", in_steps, 2 * layers.recurrent}};
  if (layers.projection > 0) lines.push_back({"projection", in_steps, 2 * layers.projection});
  if (layers.mogrifier > 0)
    lines.push_back({"mogrifier", "one or two products in each round of each step", 2 * layers.mogrifier});
  if (model.transformer)
    std::ranges::copy(transformer_products(transformer_of(r)), std::back_inserter(lines));
  const double of_decoder = 2 * model.decoder.config.in * vocab;
  if (model.mixture) {
    const auto& m = model.mixture->config;
    lines.push_back(
        {"vectors of the mixture", "one product over all steps", 2.0 * m.in * m.components * (m.width + 1)});
    lines.push_back({"decoder",
                     "a product for each softmax of the mixture, in chunks; in training four times as many",
                     m.components * of_decoder});
  } else {
    lines.push_back({"decoder", "one product over all steps, in chunks", of_decoder});
  }
  if (model.past_decoder) {
    const double in = model.decoder.config.in, share = r.training.past_decode_share;
    lines.push_back({"telling back", "two products for each step that is told back; in training alone",
                     share * (2 * of_decoder + 2 * in * in)});
  }
  print_table(lines, "", "together");
}

// Numbers that a mixture of softmaxes keeps for backward, for one token: the components' vectors, before and after dropout, and
// their shares.
double kept_of_mixture(const LanguageModel& model) {
  if (!model.mixture) return 0;
  const auto& m = model.mixture->config;
  return m.components * (m.width * (m.dropout > 0 ? 2.0 : 1.0) + 1);
}

// A lower bound of the traffic between memory and processor, if a cache keeps nothing but the operands of one
// product.
void print_traffic(const Recipe& r, const LanguageModel& model, double vocab) {
  const LayerSizes layers(model);
  const double batch = r.data.batch, window = batch * r.data.bptt, real_size = sizeof(real);
  const double recurrent = layers.in_steps();
  const double looked_up =
      r.model.tied ? 0 : vocab * r.model.embedding;  // a few rows; tied, the decoder reads all
  const double others = static_cast<double>(model.params.count()) - recurrent - looked_up;
  double kept = r.model.embedding + 7 * layers.units + kept_of_mixture(model);
  std::vector<ExplainedLine> lines;
  if (model.recurrent)
    lines = {{layers.mogrifier > 0 ? "weights of the layers" : "recurrent weights",
              "forward and back, for each step of the batch", 2 * recurrent * real_size / batch}};
  lines.push_back({model.recurrent ? "other weights" : "weights", "forward and back, once a window",
                   2 * others * real_size / window});
  if (model.transformer) {
    const TransformerConfig c = transformer_of(r);
    kept += transformer_values(c, r.data.bptt);
    lines.push_back({"memory", "copied with each window, and looked at",
                     4 * transformer_memory(c, r.data.batch) / window});
  }
  lines.push_back({"values kept for the gradient", "written and read", 2 * kept * real_size});
  lines.push_back({"gradients and update", "weights and gradients once a window",
                   4 * static_cast<double>(model.params.count()) * real_size / window});
  show("Traffic, bytes per token in training (at least)\n");
  print_table(lines, "B", "together");
}

// Copies in the order and precision that the engine's products read. cuDNN reads tensors where they are, with two
// exceptions: a cell with a bias that ours lacks, and 16 bits, where inputs and outputs are copied too.
ExplainedLine copies(const LanguageModel& model, Engine engine, double rows) {
  const bool rounded = precision() == Precision::bf16 || precision() == Precision::fp16;
  const LayerSizes layers(model);
  if (engine == Engine::fused)
    return {"packed weights",
            layers.mogrifier > 0 ? "those of a layer at a time" : "the recurrent ones, of a layer at a time",
            layers.packed};
  if (engine == Engine::cudnn && (rounded || model.recurrent->cell().kind == CellKind::gru)) {
    const double ends = rounded ? rows * (model.embedding.config.dim + model.width()) : 0;
    return {"copies for cuDNN",
            rounded ? "in 16 bits: weights, what enters and leaves, and gradients of both"
                    : "weights with both biases, and their gradients",
            2 * (layers.inputs + layers.recurrent + layers.projection + ends) * (rounded ? 2 : sizeof(real))};
  }
  return {"copies for products", "none", 0};
}

// Numbers that forward keeps for backward, for one unit and step: gates, c or sums, and h.
double kept_of_cell(const LanguageModel& model) {
  const CellFacts& cell = model.recurrent->cell();
  const int gates = model.recurrent->config().gates(cell);
  return cell.kind == CellKind::gru ? 2 * gates + 1 : gates + (cell.has_c ? 2 : 1);
}

// Numbers that all layers and a mixture keep for backward, for one token, without those of the options.
double kept_of_layers(const Recipe& r, const LanguageModel& model) {
  double kept = kept_of_mixture(model);
  if (model.recurrent) kept += kept_of_cell(model) * LayerSizes(model).units;
  if (model.transformer) kept += transformer_values(transformer_of(r), r.data.bptt);
  return kept;
}

// `costs` and `engine` belong to the recurrent layers, if there are any.
void print_memory(const Recipe& r, const LanguageModel& model, double vocab, const LayerCosts& costs,
                  Engine engine) {
  const double weights = static_cast<double>(model.params.count()) * sizeof(real);
  const double rows = static_cast<double>(r.data.batch) * r.data.bptt, in = model.decoder.config.in,
               of_decoder = rows * (model.mixture ? model.mixture->config.components : 1);
  const auto [input_rate, hidden_rate, output_rate] = dropout_rates(r);
  // The options' costs contain the dropout between the layers.
  const double masked = (input_rate > 0 ? r.model.embedding : 0) + (output_rate > 0 ? model.width() : 0);
  const double chunk = std::min(of_decoder * vocab, static_cast<double>(logits_at_once) / sizeof(real));
  const int moments = moments_of(r.sections());
  std::vector<ExplainedLine> lines = {
      {"weights", "", weights},
      {"gradients", "", weights},
      {"optimizer", fmt::format("{} number{} a weight", moments, plural(moments)), weights * moments},
      {"a window's values",
       model.recurrent ? "embedding, gates, c or sums, and h of each layer, dropout"
                       : "embedding, what each layer keeps, dropout",
       (r.model.embedding + kept_of_layers(r, model) + masked) * rows * sizeof(real)}};
  double in_gradients = 0;
  if (model.recurrent) {
    lines.push_back({"options of the layers", "what they keep of a window, measured",
                     costs.options.empty() ? 0 : costs.options.back().held});
    lines.push_back(copies(model, engine, rows));
    in_gradients = 6.0 * r.model.hidden;
  }
  if (model.transformer) {
    const TransformerConfig c = transformer_of(r);
    lines.push_back({"memory of the attention", "keys and values: of this window, the next, and a copy",
                     3 * transformer_memory(c, r.data.batch)});
    in_gradients = std::max(in_gradients, 6.0 * c.dim + 2.0 * c.units());
  }
  lines.push_back({"a window's gradients",
                   model.recurrent ? "of two layers at a time" : "of a layer at a time",
                   in_gradients * rows * sizeof(real)});
  lines.push_back({"logits", "a chunk of rows, and the decoder's gradient",
                   (chunk + vocab * (in + 1) + of_decoder * in) * sizeof(real)});
  if (model.past_decoder) {
    const double steps = std::ceil(r.training.past_decode_share * static_cast<float>(r.data.bptt)),
                 told = steps * r.data.batch;
    lines.push_back({"telling back", "logits and p of these steps, what is told, and gradients",
                     4 * told * vocab * sizeof(real)});
  }
  show("Memory, estimated (ptb train --dry-run measures it)\n");
  print_table(lines, "B", "together");
}

void print_options(const Recipe& r, const LayerCosts& costs) {
  show("Options of the recurrent layers\n");
  if (costs.options.empty()) {
    show("  none: the plain {}\n\n", cell_of(r).title);
    return;
  }
  show("  {:<18}{:<15}{:>9}{:>9}\n", "", "", "held", "time");
  for (const LayerOptionCost& cost : costs.options)
    show("  {:<18}{:<15}{:>8}B{:>9.2f}   {}\n", cost.option, cost.value, format_number(cost.held), cost.time,
         cost.how);
  show(
      "  Measured here and now. Held: from forward to backward, of a window, all layers. Time of the layers forward and\n"
      "  backward, the plain {} being 1: {} layer{}, windows of {} x {}, {} thread{}, the best of {} round{} in which all\n"
      "  took turns.\n\n",
      cell_of(r).title, costs.layers, plural(costs.layers), r.data.batch, r.data.bptt, threads(),
      plural(threads()), costs.rounds, plural(costs.rounds));
}

void print_course(const Recipe& r, int64_t tokens) {
  show("Training: {} epochs, windows of {} x {} tokens, {}", r.training.epochs, r.data.batch, r.data.bptt,
       r.training.reduction == Reduction::mean ? "mean over tokens"
                                               : "sum over steps of the mean over the batch");
  const EpochWindows windows = windows_of(r, tokens);
  show(", {} windows {}\n", windows.of(1),
       r.data.variable_bptt ? "in the first epoch, of lengths that are drawn" : "an epoch");
  print_learning_rate(r.sections(), windows);
}

// Sizes of the vocabulary and of the training split. The Penn Treebank's are known without its files.
struct Sizes {
  int vocab;
  int64_t tokens;
  std::vector<std::string> notes = {};  // what to know about the text
};
Sizes sizes_of(const Recipe& recipe, const std::filesystem::path& data) {
  const bool known =
      recipe.data.corpus == CorpusKind::ptb && recipe.data.level == Level::word && data.empty();
  std::error_code error;
  if (known && !std::filesystem::exists(ptb_file("data/ptb", Split::train), error))
    return {10'000, recipe.data.limit ? std::min<int64_t>(recipe.data.limit, 929'589) : 929'589};
  const Text text = load_text(recipe, data);
  return {text.vocabulary.size(), std::ssize(text.train.tokens), text.notes};
}

}  // namespace

void explain(Command& command) {
  std::string data, plot;
  Machine machine;
  RecipeOptions options = recipe_options();
  command.describe(
      "Explains a recipe's model before it is trained: parameters; arithmetic, traffic and memory for a "
      "token; the cost of each option of the recurrent layers; the engine, and why; the course of the "
      "learning rate. The cost of options is measured, which takes a few seconds; with wide layers about as "
      "long as a training step for each option.");
  options.add_with_recipe(command);
  command.group("Text and machine");
  add_data_option(command, data);
  machine.add_to(command);
  command.group("Output");
  command.option("plot", plot, "FILE", plot_of_schedule);
  command.example("explain ptb-medium", "without the text: the sizes of the Penn Treebank are known");
  command.example("explain demo --set model.hidden=500", "what a wider model would cost");
  command.example("explain demo --plot rate.svg", "its learning rate as a picture");
  if (!command.parse()) return;
  require_new("explain", plot, "plot");
  const Recipe recipe = load_recipe(command.positional(), options.overrides(command));
  machine.set_up(command, recipe.training.precision);
  const Sizes sizes = sizes_of(recipe, data);
  check_streams(recipe, sizes.tokens);
  const LanguageModel model(recipe, sizes.vocab);
  model.params.check_count();
  if (!plot.empty())
    write_schedule_plot(plot, recipe.name, recipe.sections(), windows_of(recipe, sizes.tokens));

  show("{}: {}, {} {}\n", printable(recipe.name), printable(describe(recipe, data)), sizes.vocab,
       recipe.data.level == Level::word ? "words" : "characters");
  for (const std::string& note : sizes.notes) show("note: {}\n", note);
  show("\n");
  print_parameters(model);
  print_work(recipe, model, sizes.vocab);
  print_traffic(recipe, model, sizes.vocab);
  const bool recurrent = model.recurrent.has_value();
  std::fflush(stdout);  // before what may take a while
  const LayerCosts costs = recurrent ? measure_layer_costs(recipe) : LayerCosts();
  const EngineChoice choice =
      recurrent ? model.recurrent->choice_for({.steps = recipe.data.bptt, .batch = recipe.data.batch})
                : EngineChoice();
  print_memory(recipe, model, sizes.vocab, costs, choice.engine);
  if (recurrent) print_options(recipe, costs);
  print_products();
  print_processes(recipe.training, model.params, operations_of_step(recipe, model.params));
  if (recurrent) print_engine(choice);
  print_course(recipe, sizes.tokens);
}

}  // namespace ptb
