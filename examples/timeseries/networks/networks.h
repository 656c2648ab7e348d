// The table of networks, and the keys of a recipe's section [model], which choose one.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "layers/recurrent/options.h"

namespace timeseries {

using namespace unroll;

class Network;
struct NetworkPlan;
struct NetworkKeys;

using KeyFault = std::pair<const char*, std::string>;  // {"model.segment", "= 5 …"}; nullptr: there is none

// A row of the table.
struct NetworkRow {
  std::string_view word;  // model.architecture
  const char* meaning;    // in the key's description
  std::unique_ptr<Network> (*make)(const NetworkPlan& plan);
  // The keys of [model] that it needs, if not all networks read them: "cell" stands for all of recurrent layers. Also
  // "known" if it reads data.known, and "label" if it can detect. Without "cell" it reads its target's values alone, no
  // calendar; without "shared_channels" each target is always a row of its own.
  std::array<std::string_view, 6> needs = {};
  KeyFault (*fault_in)(const NetworkKeys& keys, int horizon) = nullptr;  // its rules between keys
  const char* layers = "{0}";  // in words; {0} stands for the recurrent layers

  bool reads(std::string_view key) const { return std::ranges::find(needs, key) != needs.end(); }
  bool is_recurrent() const { return reads("cell"); }
};

std::unique_ptr<Network> make_direct(const NetworkPlan& plan);
std::unique_ptr<Network> make_segment_rnn(const NetworkPlan& plan);
KeyFault fault_in_segment_rnn(const NetworkKeys& keys, int horizon);
std::unique_ptr<Network> make_linear(const NetworkPlan& plan);

// A network is its row here and its struct, in a file of its own. The first row is the default.
inline constexpr NetworkRow series_networks[] = {
    {.word = "direct",
     .meaning =
         "recurrent layers over the window, and a dense layer from their last step to the whole horizon",
     .make = make_direct,
     .needs = {"cell", "shared_channels", "segment", "highway", "known", "label"}},
    {.word = "segment-rnn",
     .meaning =
         "each target alone, in segments; the same layers take one step for each segment of the horizon, all "
         "from the last state, reading which segment and target it is (Lin et al. 2023)",
     .make = make_segment_rnn,
     .needs = {"cell", "segment"},
     .fault_in = fault_in_segment_rnn},
    {.word = "linear",
     .meaning = "the horizon as weighted sums of the window, with normalization \"last\" NLinear",
     .make = make_linear,
     .needs = {"known"},
     .layers = "weighted sums of the window"}};

// The words of the networks that read a key: "direct, segment-rnn"; with `last` quoted, and this before the last one:
// "\"direct\" or \"segment-rnn\"".
std::string networks_reading(std::string_view key, std::string_view last = {});

// Normalization of each window; undone at the output.
enum class Normalization : uint8_t { none, last, window };

// The keys of [model]. Options of the recurrent layers; dropout also acts on the dense layer's input.
struct NetworkKeys : RecurrentConfig {
  const NetworkRow* architecture = series_networks;
  CellKind cell = CellKind::lstm;
  bool shared_channels = false;
  Normalization normalization = Normalization::none;
  int segment = 1;
  int highway = 0;
  NetworkKeys() : RecurrentConfig{.hidden = 32, .forget_bias = 1} {}

  // The options of its recurrent layers for `input` columns.
  RecurrentConfig layers_of(int input) const;
  bool by_channel() const { return shared_channels || !architecture->reads("shared_channels"); }
};

}  // namespace timeseries
