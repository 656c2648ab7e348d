// The options of recurrent layers: one configuration for every cell, and one table with a row for each option.
//
// Everything that must know every option reads the table: range checks, the choice of an engine, the stepper, the
// recipes of both programs and their documentation, the notes on PyTorch, `explain`, and the tests. wavefront.cpp,
// persistent.cpp and step.h name the options that they cannot serve. To add an option, add a member to
// RecurrentConfig, a row here, and the code where it acts. It is off at its member's default, whatever that is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "framework/unary.h"
#include "layers/recurrent/engine.h"

namespace unroll {

// The cells of this library, which recipes name; `other` is a cell from outside.
enum class CellKind : uint8_t { lstm, gru, rnn, other };

// A cell, as options and engines see it.
struct CellFacts {
  const char* name;                              // "lstm", for messages and parameters
  const char* title;                             // "LSTM", as PyTorch calls its module
  CellKind kind = CellKind::other;               // which of the library's it is
  int gates = 0;                                 // rows of weight_hh by unit
  bool has_c = false;                            // the state is h and c; else h alone
  int c_parts = 1;                               // numbers of a unit in c
  bool fused = false;                            // it brings an engine `fused`
  std::span<const char* const> gate_names = {};  // that a trace shows; empty: it names none
  // A cell of the library: cuDNN knows it, and its own engine computes a window by chunks of steps.
  bool is_ours() const { return fused && kind != CellKind::other; }
};
inline constexpr CellFacts our_cells[] = {  // by kind
    {.name = "lstm", .title = "LSTM", .kind = CellKind::lstm, .gates = 4, .has_c = true, .fused = true},
    {.name = "gru", .title = "GRU", .kind = CellKind::gru, .gates = 3, .fused = true},
    {.name = "rnn", .title = "RNN", .kind = CellKind::rnn, .gates = 1, .fused = true}};
constexpr const CellFacts& facts_of(CellKind kind) { return our_cells[static_cast<size_t>(kind)]; }

// `layers` of `hidden` units, the first over `input`; gates, directions, engine. recurrent_options says what options do.
struct RecurrentConfig {
  int input = 0;
  int hidden = 0;
  int layers = 1;
  // Acts between layers; an error if there is only one. For inputs and outputs use dropout() or Dropout.
  float dropout = 0;
  bool locked_dropout = false;
  float recurrent_dropout = 0;
  float weight_drop = 0;
  float zoneout_h = 0, zoneout_c = 0;
  int projection = 0;
  int last_hidden = 0;
  bool layer_norm = false;
  bool peepholes = false;
  Unary gate_activation = Unary::sigmoid;
  Unary cell_activation = Unary::tanh;
  Unary nonlinearity = Unary::tanh;
  float cell_clip = 0;
  bool coupled_gates = false;
  int mogrifier = 0, mogrifier_rank = 0;
  bool residual = false;
  bool bidirectional = false;
  float forget_bias = 0;
  bool resets = false;  // calls will say where rows start anew: matters only to the choice of an engine
  Engine engine = Engine::automatic;
  RecurrentAlgorithm algorithm = RecurrentAlgorithm::automatic;  // of the engine fused

  int width() const { return projection ? projection : hidden; }  // of h
  int gates(const CellFacts& cell) const { return cell.gates - (coupled_gates ? 1 : 0); }
  int directions() const { return bidirectional ? 2 : 1; }
  int output() const { return directions() * (last_hidden ? last_hidden : width()); }  // of y
};

// One option: its member (a Member), range and name, where and when it acts, who knows it.
struct RecurrentOption {
  using Member = std::variant<bool RecurrentConfig::*, int RecurrentConfig::*, float RecurrentConfig::*,
                              Unary RecurrentConfig::*>;
  // The values that it may have.
  enum class Range : uint8_t {
    on_off,
    rate,      // in [0, 1)
    width,     // less than hidden; 0: the option is off
    count,     // at least 0; 0: the option is off
    limit,     // at least 0; 0: the option is off
    number,    // any; all are finite
    of_gates,  // one of gate_functions
    of_cell,   // one of cell_functions
    of_plain   // one of plain_functions
  };
  // When it has an effect.
  enum class Acts : uint8_t {
    always,
    in_training,  // at random; has no effect elsewhere
    expected,     // at random in training, and elsewhere by its expectation
    at_first      // on first values alone
  };
  enum class Cells : uint8_t { every, with_c, lstm, rnn };  // which cells have it
  // Whether cuDNN computes it.
  enum class Cudnn : uint8_t {
    yes,
    between_layers,  // acts on an input or output of layers; with two or more cuDNN is called for each by itself
    no
  };

  const char* name;  // of the key in a recipe, too
  Member member;
  Range range = Range::on_off;
  Acts acts = Acts::always;
  Cells cells = Cells::every;    // that have it
  Cudnn cudnn = Cudnn::no;       // whether cuDNN computes it
  bool needs_layers = false;     // an error unless layers > 1
  bool is_key = true;            // recipes have this key as it is here; else the program defines its own
  const char* of = nullptr;      // the option that this one refines; means nothing without it
  const char* torch = nullptr;   // its name in PyTorch's module; nullptr: PyTorch lacks it
  const char* does;              // for tables of keys and help
  const char* source = nullptr;  // the paper
  const char* how = "";          // what computing it means
};

// All of them, in the order of tables.
inline constexpr RecurrentOption recurrent_options[] = {
    {.name = "dropout",
     .member = &RecurrentConfig::dropout,
     .range = RecurrentOption::Range::rate,
     .acts = RecurrentOption::Acts::in_training,
     .cudnn = RecurrentOption::Cudnn::between_layers,
     .needs_layers = true,
     .is_key = false,  // in recipes it acts before and after the layers, too
     .torch = "dropout",
     .does = "probability that an element is dropped on its way from layer to layer",
     .source = "Zaremba, Sutskever, Vinyals 2014",
     .how = "what goes from layer to layer times a mask, drawn anew backwards"},
    {.name = "locked_dropout",
     .member = &RecurrentConfig::locked_dropout,
     .acts = RecurrentOption::Acts::in_training,
     .cudnn = RecurrentOption::Cudnn::yes,
     .needs_layers = true,
     .of = "dropout",
     .does = "dropout keeps one mask for all steps of a window; needs a rate of dropout above 0",
     .source = "Gal and Ghahramani 2016"},
    {.name = "recurrent_dropout",
     .member = &RecurrentConfig::recurrent_dropout,
     .range = RecurrentOption::Range::rate,
     .acts = RecurrentOption::Acts::in_training,
     .does = "dropout on what a layer hands itself from step to step, one mask for all steps of a window",
     .source = "Gal and Ghahramani 2016",
     .how = "h times a mask in each step, one mask for a window"},
    {.name = "weight_drop",
     .member = &RecurrentConfig::weight_drop,
     .range = RecurrentOption::Range::rate,
     .acts = RecurrentOption::Acts::in_training,
     .does = "probability that a recurrent weight is dropped, drawn anew for each window",
     .source = "Merity, Keskar, Socher 2018",
     .how = "the recurrent weights times a mask, once a window, forward and back"},
    {.name = "zoneout_h",
     .member = &RecurrentConfig::zoneout_h,
     .range = RecurrentOption::Range::rate,
     .acts = RecurrentOption::Acts::expected,
     .does = "probability that a unit of h keeps its value of the step before",
     .source = "Krueger et al. 2017",
     .how = "h mixed with the h before by a mask for each step"},
    {.name = "zoneout_c",
     .member = &RecurrentConfig::zoneout_c,
     .range = RecurrentOption::Range::rate,
     .acts = RecurrentOption::Acts::expected,
     .cells = RecurrentOption::Cells::with_c,
     .does = "the same of the cell's state c",
     .source = "Krueger et al. 2017",
     .how = "c mixed with the c before by a mask for each step; both are kept"},
    {.name = "projection",
     .member = &RecurrentConfig::projection,
     .range = RecurrentOption::Range::width,
     .cells = RecurrentOption::Cells::lstm,
     .cudnn = RecurrentOption::Cudnn::yes,
     .torch = "proj_size",
     .does = "width of h, which is then a product of what the cell gives; less than hidden; 0: none",
     .source = "Sak, Senior, Beaufays 2014",
     .how = "a product more in each step, smaller ones for what reads h"},
    {.name = "layer_norm",
     .member = &RecurrentConfig::layer_norm,
     .cells = RecurrentOption::Cells::lstm,
     .does = "each product and the state c are normalised over their units, with gains of their own",
     .source = "Ba, Kiros, Hinton 2016",
     .how = "both products and c normalised: nine numbers for each unit, which are kept"},
    {.name = "peepholes",
     .member = &RecurrentConfig::peepholes,
     .cells = RecurrentOption::Cells::lstm,
     .does = "the gates see the state c, each unit its own: i and f that before the step, o the new one",
     .source = "Gers and Schmidhuber 2000",
     .how = "three weights for each unit, inside the cell"},
    {.name = "gate_activation",
     .member = &RecurrentConfig::gate_activation,
     .range = RecurrentOption::Range::of_gates,
     .cells = RecurrentOption::Cells::lstm,
     .does = "function of the three gates; hard_sigmoid is x/6 + 1/2 between 0 and 1",
     .how = "another function at the same place"},
    {.name = "cell_activation",
     .member = &RecurrentConfig::cell_activation,
     .range = RecurrentOption::Range::of_cell,
     .cells = RecurrentOption::Cells::lstm,
     .does = "function of what enters the state c, and of c on its way to h",
     .how = "another function at the same place"},
    {.name = "cell_clip",
     .member = &RecurrentConfig::cell_clip,
     .range = RecurrentOption::Range::limit,
     .cells = RecurrentOption::Cells::lstm,
     .does = "the state c stays between ±cell_clip; 0: it is free",
     .source = "Sak, Senior, Beaufays 2014",
     .how = "c divided, clipped and multiplied again"},
    {.name = "coupled_gates",
     .member = &RecurrentConfig::coupled_gates,
     .cells = RecurrentOption::Cells::lstm,
     .does = "the input gate is 1 minus the forget gate, and has no weights",
     .source = "Greff et al. 2017",
     .how = "three gates instead of four"},
    {.name = "nonlinearity",
     .member = &RecurrentConfig::nonlinearity,
     .range = RecurrentOption::Range::of_plain,
     .cells = RecurrentOption::Cells::rnn,
     .cudnn = RecurrentOption::Cudnn::yes,
     .torch = "nonlinearity",
     .does = "function of the sums, which gives h",
     .source = "Elman 1990",
     .how = "another function at the same place"},
    {.name = "mogrifier",  // layers/recurrent/mogrifier.h
     .member = &RecurrentConfig::mogrifier,
     .range = RecurrentOption::Range::count,
     .does = "rounds in which x and h scale each other before each step, 5 in the paper; 0: none",
     .source = "Melis, Kočiský, Blunsom 2020",
     .how = "a gate for x or h in each round; x's product is made in its step"},
    {.name = "mogrifier_rank",
     .member = &RecurrentConfig::mogrifier_rank,
     .range = RecurrentOption::Range::width,
     .cudnn = RecurrentOption::Cudnn::yes,  // as far as the mogrifier is
     .of = "mogrifier",
     .does = "each matrix of the mogrifier is a product of two of this rank, less than hidden; 0: it is one",
     .source = "Melis, Kočiský, Blunsom 2020"},
    {.name = "residual",
     .member = &RecurrentConfig::residual,
     .cudnn = RecurrentOption::Cudnn::between_layers,
     .needs_layers = true,
     .does = "every layer but the first adds its input to its output; needs layers above 1",
     .source = "Wu et al. 2016",
     .how = "the input added to the output, but in the first"},
    // A decoder can then be tied to a narrow embedding. The layer's states fill the first elements of their rows, else 0.
    {.name = "last_hidden",
     .member = &RecurrentConfig::last_hidden,
     .range = RecurrentOption::Range::width,
     .cells = RecurrentOption::Cells::lstm,
     .cudnn = RecurrentOption::Cudnn::between_layers,
     .needs_layers = true,
     .does = "width of the last layer, less than hidden; 0: hidden",
     .source = "Merity, Keskar, Socher 2018",
     .how = "a last layer of another width"},
    {.name = "bidirectional",
     .member = &RecurrentConfig::bidirectional,
     .cudnn = RecurrentOption::Cudnn::yes,
     .is_key = false,  // no program predicts what it has read
     .torch = "bidirectional",
     .does = "each layer reads the steps in both directions; y is forwards and backwards side by side",
     .source = "Schuster and Paliwal 1997"},
    {.name = "forget_bias",
     .member = &RecurrentConfig::forget_bias,
     .range = RecurrentOption::Range::number,
     .acts = RecurrentOption::Acts::at_first,
     .cells = RecurrentOption::Cells::lstm,
     .cudnn = RecurrentOption::Cudnn::yes,
     .does = "added to the forget gate's first bias",
     .source = "Jozefowicz et al. 2015"},
};

const RecurrentOption& option_named(std::string_view name);             // throws Error if there is none
bool has_option(const CellFacts& cell, const RecurrentOption& option);  // the cell knows it
// is_set: it is other than that of a plain layer. value_of: "0.25", "true", "softsign". unset: back to a plain layer's.
bool is_set(const RecurrentOption& option, const RecurrentConfig& config);
std::string value_of(const RecurrentOption& option, const RecurrentConfig& config);
void unset(const RecurrentOption& option, RecurrentConfig& config);
// The functions that it may be set to; empty if the option is not a function.
std::vector<Unary> functions_of(const RecurrentOption& option);

// Why a configuration is invalid (fault_in): an option, and "(3) must be less than hidden (3); 0 is for none". `prefix` precedes
// the names of other options.
struct OptionFault {
  std::string option, text;
};
std::optional<OptionFault> fault_in(const CellFacts& cell, const RecurrentConfig& config,
                                    const std::string& prefix = "");

// The options that are set, in the table's order, but not `dropout`, refinements of others, or options of initial values.
std::vector<const RecurrentOption*> options_set(const RecurrentConfig& config);
// "2 LSTM layers of 200", "1 GRU layer of 30 (weight_drop, residual)"
std::string describe_layers(const CellFacts& cell, const RecurrentConfig& config);
// True if a layer's input differs from the output of the layer before it.
bool acts_between_layers(const RecurrentConfig& config);
// True if an inference step is two products and one pass of the cell's kernel.
bool is_plain_step(const RecurrentConfig& config);
// Removes everything random, for a window that is to be learnt by heart.
RecurrentConfig without_dropping(RecurrentConfig config);

// The options that PyTorch's module lacks and that change what the weights compute: "layer_norm, residual", or "".
// Options that act only in training are left out.
std::string unknown_to_torch(const RecurrentConfig& config);
// "nn.LSTM(20, 50, 2, proj_size=10)", without dropout, which acts in training alone; or "none: nn.LSTM does not know layer_norm"
std::string torch_module(const CellFacts& cell, const RecurrentConfig& config);

}  // namespace unroll
